/** Clusters and a destination's traffic policy in; the filters that connect a TCP stream to them out. */

import type { Filter } from "../../gen/envoy/config/listener/v3/listener_components_pb.js";
import { MongoProxySchema } from "../../gen/envoy/extensions/filters/network/mongo_proxy/v3/mongo_proxy_pb.js";
import {
  type TcpProxySchema as Schema,
  TcpProxySchema,
} from "../../gen/envoy/extensions/filters/network/tcp_proxy/v3/tcp_proxy_pb.js";
import type { OutboundFacet, Protocol } from "../../model/index.ts";
import { packAny } from "../build/any.ts";
import { duration } from "../build/duration.ts";
import type { Fields } from "../build/fields.ts";
import { networkFilter } from "../build/listener-chain.ts";
import { packSound } from "../build/sound.ts";
import type { Direction } from "../proxy/direction.ts";
import { accessLogs } from "../telemetry/access-log.ts";
import { tcpLogging } from "../telemetry/agent-metrics.ts";
import type { View } from "../view.ts";

export type TcpProxyInit = Fields<typeof Schema>;

export interface TcpTarget {
  readonly statPrefix: string;
  /** More than one, or a route that was written with several, is weighted. */
  readonly clusters: readonly { readonly name: string; readonly weight: number }[];
  readonly weighted: boolean;
  readonly options?: TcpProxyInit;
}

/** Options that Envoy would refuse are left out: the listener, and with it all else on the port, is worth more. */
export function tcpProxy(view: View<OutboundFacet>, direction: Direction, target: TcpTarget): Filter {
  const plain: TcpProxyInit = {
    statPrefix: target.statPrefix,
    clusterSpecifier: specifier(target),
    ...proxyIdleTimeout(view),
    ...tcpLogging(view, direction, accessLogs(view, direction, "tcp")),
  };
  const config = packSound(TcpProxySchema, { ...plain, ...target.options }) ?? packAny(TcpProxySchema, plain);
  return networkFilter("envoy.filters.network.tcp_proxy", config);
}

/** Never logged: what goes there should not be on its way at all. */
export function plainTcpProxy(cluster: string): Filter {
  const clusterSpecifier = { case: "cluster" as const, value: cluster };
  return networkFilter(
    "envoy.filters.network.tcp_proxy",
    packAny(TcpProxySchema, { statPrefix: cluster, clusterSpecifier }),
  );
}

/** Filters that understand a protocol and count what they see of it, before the stream goes on. Redis and MySQL: off, as in Istio. */
export function protocolFilters(protocol: Protocol, statPrefix: string): readonly Filter[] {
  if (protocol !== "Mongo") return [];
  return [networkFilter("envoy.filters.network.mongo_proxy", packAny(MongoProxySchema, { statPrefix }))];
}

function specifier({ clusters, weighted }: TcpTarget): NonNullable<TcpProxyInit["clusterSpecifier"]> {
  if (!weighted) return { case: "cluster", value: clusters[0]?.name ?? "" };
  return { case: "weightedClusters", value: { clusters: clusters.map(({ name, weight }) => ({ name, weight })) } };
}

/** An empty value would be no duration. */
function proxyIdleTimeout(view: View<OutboundFacet>): TcpProxyInit {
  const idleTimeout = duration(view.proxy.metadata.IDLE_TIMEOUT || undefined);
  return idleTimeout ? { idleTimeout } : {};
}
