/** MeshConfig's `proxyHttpPort` in; the listener that applications use as an HTTP proxy out. */
import type { BuildFacet } from "../../model/index.ts";
import { localhosts } from "../proxy/addresses.ts";
import type { View } from "../view.ts";
import { anyMatch, type OutboundListener } from "./outbound-chain.ts";

export function httpProxyListener(view: View<BuildFacet>): OutboundListener | undefined {
  const port = view.mesh.settings().proxyHttpPort ?? 0;
  if (port === 0) return undefined;
  const binds = localhosts(view.proxy);
  const chain = {
    ...anyMatch,
    kind: "http" as const,
    routeName: "http_proxy",
    dynamicHost: undefined,
    absoluteUrls: true,
  };
  return { name: `${binds[0]}_${port}`, binds, port, bindToPort: true, chains: [{ ...chain, protocol: "HTTP_PROXY" }] };
}
