/** Names of extension providers in; their settings, and the cluster that reaches a provider's service, out. */
import type { BuildFacet, ExtensionProvider } from "../../model/index.ts";
import type { View } from "../view.ts";

/** Names are compared without regard to case. */
export function findProvider(view: View<BuildFacet>, name: string): ExtensionProvider | undefined {
  const wanted = name.toLowerCase();
  return view.mesh.settings().extensionProviders?.find((provider) => provider.name?.toLowerCase() === wanted);
}

export interface ProviderCluster {
  readonly host: string;
  readonly cluster: string;
}

/** `namespace/host`, or a host that exists in one namespace only; undefined where it is unknown or ambiguous. */
export function providerCluster(
  view: View<BuildFacet>,
  service: string | undefined,
  port: number | undefined,
): ProviderCluster | undefined {
  if (!service) return undefined;
  const keys = service.includes("/") ? [service] : view.mesh.servicesOfHost(service);
  const [key] = keys;
  const found = key !== undefined && keys.length === 1 ? view.mesh.service(key) : undefined;
  return found && { host: found.host, cluster: `outbound|${port ?? 0}||${found.host}` };
}
