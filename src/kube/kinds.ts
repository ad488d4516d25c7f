/** Kubernetes' own kinds that rooms ask the API for, as it spells them; and how it spells the mesh's. */
import { type Kind, kinds, storageVersion } from "../model/index.ts";
import type { KindRef } from "./kind.ts";

const kind = (group: string, plural: string, name: string, namespaced = true, version = "v1"): KindRef => ({
  group,
  version,
  plural,
  kind: name,
  namespaced,
});

const admission = "admissionregistration.k8s.io";
const rbac = "rbac.authorization.k8s.io";

export const kubeKinds = {
  namespaces: kind("", "namespaces", "Namespace", false),
  nodes: kind("", "nodes", "Node", false),
  pods: kind("", "pods", "Pod"),
  services: kind("", "services", "Service"),
  events: kind("", "events", "Event"),
  configMaps: kind("", "configmaps", "ConfigMap"),
  secrets: kind("", "secrets", "Secret"),
  serviceAccounts: kind("", "serviceaccounts", "ServiceAccount"),
  deployments: kind("apps", "deployments", "Deployment"),
  replicaSets: kind("apps", "replicasets", "ReplicaSet"),
  autoscalers: kind("autoscaling", "horizontalpodautoscalers", "HorizontalPodAutoscaler", true, "v2"),
  disruptionBudgets: kind("policy", "poddisruptionbudgets", "PodDisruptionBudget"),
  endpointSlices: kind("discovery.k8s.io", "endpointslices", "EndpointSlice"),
  leases: kind("coordination.k8s.io", "leases", "Lease"),
  ingresses: kind("networking.k8s.io", "ingresses", "Ingress"),
  ingressClasses: kind("networking.k8s.io", "ingressclasses", "IngressClass", false),
  roles: kind(rbac, "roles", "Role"),
  roleBindings: kind(rbac, "rolebindings", "RoleBinding"),
  mutatingWebhooks: kind(admission, "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", false),
  validatingWebhooks: kind(admission, "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", false),
  certificateSigningRequests: kind(
    "certificates.k8s.io",
    "certificatesigningrequests",
    "CertificateSigningRequest",
    false,
  ),
  definitions: kind("apiextensions.k8s.io", "customresourcedefinitions", "CustomResourceDefinition", false),
} as const;

/** A kind of the mesh, in the version that the API stores. */
export function kindRef(of: Kind): KindRef {
  return {
    group: of.group,
    version: storageVersion(of),
    plural: of.plural,
    kind: of.kind,
    namespaced: of.scope === "Namespaced",
  };
}

const { namespaces, nodes, pods, services, configMaps, endpointSlices, ingresses, ingressClasses } = kubeKinds;

/** What a mesh is made from, beside the Secrets that its gateways name. */
export const meshKinds: readonly KindRef[] = [
  ...[namespaces, nodes, pods, services, configMaps, endpointSlices, ingresses, ingressClasses],
  ...kinds.map(kindRef),
];
