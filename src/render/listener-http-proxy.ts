/** MeshConfig's `proxyHttpPort` in; the listener that applications use as an HTTP proxy out. */
import { localhosts } from "./addresses.ts";
import { buildOutboundListener } from "./listener-outbound.ts";
import { anyMatch, type OutboundListener } from "./listener-outbound-chain.ts";
import type { Part, View } from "./view.ts";

export function httpProxyListener(view: View): OutboundListener | undefined {
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

export function renderHttpProxyListener(view: View): Part | undefined {
  const listener = httpProxyListener(view);
  return listener && buildOutboundListener(view, listener, (index) => httpProxyListener(view)?.chains[index]);
}
