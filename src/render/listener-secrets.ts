/** A gateway in; the secrets kept in Kubernetes that its listeners ask for over SDS, and which Gateway named each, out. */
import { credentialResource } from "./build/tls.ts";
import { type BoundServer, isPassthrough, mergedGateways } from "./gateway-servers.ts";
import { caCredentialName, credentialNames } from "./listener-gateway-tls.ts";
import type { View } from "./view.ts";

export interface SecretReference {
  /** `kubernetes://name`, `kubernetes-gateway://namespace/name`, `configmap://namespace/name`. */
  readonly resource: string;
  /** Who may read it depends on where this lives, and on what stands behind it. */
  readonly gateway: BoundServer["meta"];
}

export function listenerSecrets(view: View): readonly SecretReference[] {
  if (view.proxy.type !== "router") return [];
  const servers = mergedGateways(view).ports.flatMap((port) => port.servers);
  return servers.flatMap(({ server, meta }) => {
    const { tls } = server;
    if (!tls || isPassthrough(server) || tls.mode === "ISTIO_MUTUAL") return [];
    const checksClients = tls.mode === "MUTUAL" || tls.mode === "OPTIONAL_MUTUAL";
    const own = credentialNames(tls);
    const names = own.length > 0 && checksClients ? [...own, caCredentialName(tls)] : own;
    return names
      .map(credentialResource)
      .filter(isKept)
      .map((resource) => ({ resource, gateway: meta }));
  });
}

/** The workload's own certificate, and one that never exists, come from elsewhere. */
const isKept = (resource: string): boolean => resource !== "default" && !resource.startsWith("invalid://");
