/** The shape of a fleet, and where it connects to with which certificates. */
import { type Certificates, issueAll } from "./certificates.ts";
import { type LoadShape, loadProxy, type ProxyTarget } from "./load-proxy.ts";
import type { MeshApi } from "./mesh-api.ts";
import type { Server } from "./server.ts";

export interface Fleet extends LoadShape {
  readonly proxies: number;
  readonly tls: boolean;
  readonly rampMs: number;
}

export interface FleetTarget {
  readonly target: ProxyTarget;
  readonly certificates?: Certificates["byAccount"];
}

export async function targetOf(server: Server, api: MeshApi, fleet: Fleet): Promise<FleetTarget> {
  if (!fleet.tls) return { target: server.plain };
  if (!server.secure) throw new Error(`${server.name} has no TLS port: name it`);
  const { ca, byAccount } = await issueAll(await api.authority(), proxiesOf(fleet));
  const tls = { ca, serverName: "istiod.istio-system.svc" };
  return { target: { ...server.secure, tls }, certificates: byAccount };
}

export const proxiesOf = (fleet: Fleet) => Array.from({ length: fleet.proxies }, (_, index) => loadProxy(index, fleet));
