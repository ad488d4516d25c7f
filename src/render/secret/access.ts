/** A proxy and the name of a secret in; the object it stands for, if the proxy may read it, out. Nothing else decides that. */

import { isProven } from "../proxy/identity.ts";
import type { View } from "../view.ts";
import { verifiedNames } from "./names.ts";

export interface ReadableSecret {
  readonly object: "Secret" | "ConfigMap";
  readonly namespace: string;
  readonly name: string;
  /** Only the certificate authority is asked for, which is public. */
  readonly isCa: boolean;
}

const caSuffix = "-cacert";

/**
 * - `kubernetes://`: of the proxy's own namespace only; keys for accounts that may list the namespace's Secrets
 * - `kubernetes-gateway://`: what a Gateway of the proxy refers to, in its own namespace or by a ReferenceGrant
 * - `configmap://`: any, for only the CA in it is ever read
 */
export function readableSecret(view: View, resource: string): ReadableSecret | undefined {
  const match = /^(kubernetes|kubernetes-gateway|configmap):\/\/(?:([^/]+)\/)?([^/]+)$/.exec(resource);
  if (!match || !isProven(view.proxy)) return undefined;
  const [, scheme = "", namespace = view.proxy.namespace, name = ""] = match;
  const isCa = name.endsWith(caSuffix);
  if (scheme === "configmap") return { object: "ConfigMap", namespace, name, isCa: true };
  const mayRead = scheme === "kubernetes" ? mayReadOwn(view, namespace, isCa) : verifiedNames(view).has(resource);
  return mayRead ? { object: "Secret", namespace, name, isCa } : undefined;
}

function mayReadOwn({ proxy, mesh }: View, namespace: string, isCa: boolean): boolean {
  return namespace === proxy.namespace && (isCa || mesh.maySeeSecrets(proxy));
}
