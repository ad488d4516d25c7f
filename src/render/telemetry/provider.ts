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

/** Undefined where the service is unknown or ambiguous. */
export function providerCluster(
  view: View<BuildFacet>,
  service: string | undefined,
  port: number | undefined,
): ProviderCluster | undefined {
  if (!service) return undefined;
  const found = view.mesh.serviceNamed(service);
  return found && { host: found.host, cluster: `outbound|${port ?? 0}||${found.host}` };
}
