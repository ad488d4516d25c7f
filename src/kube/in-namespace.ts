/** An object as a file has it in; the same in the namespace that it would get out. */
import type { KubeObject } from "../model/index.ts";

const clusterScoped: ReadonlySet<string> = new Set([
  "Namespace",
  "Node",
  "GatewayClass",
  "IngressClass",
  "CustomResourceDefinition",
  "ClusterRole",
  "ClusterRoleBinding",
  "MutatingWebhookConfiguration",
  "ValidatingWebhookConfiguration",
  "PersistentVolume",
  "StorageClass",
]);

export const isClusterScoped = (kind: string): boolean => clusterScoped.has(kind);

export function inNamespace(object: KubeObject, namespace: string): KubeObject {
  if (object.metadata.namespace !== undefined || clusterScoped.has(object.kind)) return object;
  return { ...object, metadata: { ...object.metadata, namespace } };
}
