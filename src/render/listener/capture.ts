/** The listener that iptables sends a workload's outgoing connections to: it hands them on by their destination. */

import { create, fromBinary } from "@bufbuild/protobuf";
import { TrafficDirection } from "../../gen/envoy/config/core/v3/base_pb.js";
import { type FilterChain, FilterChainSchema } from "../../gen/envoy/config/listener/v3/listener_components_pb.js";
import { ListenerSchema } from "../../gen/envoy/config/listener/v3/listener_pb.js";
import { VirtualHostSchema } from "../../gen/envoy/config/route/v3/route_components_pb.js";
import { type OutboundFacet, type Resource, types } from "../../model/index.ts";
import { address } from "../build/address.ts";
import { chainMatch } from "../build/listener-chain.ts";
import { httpInspector } from "../build/listener-filter.ts";
import { namedRouteConfig } from "../build/route-config.ts";
import { outboundFacet, tracedFacet } from "../facets.ts";
import { plainTcpProxy, tcpProxy } from "../filters/tcp-proxy.ts";
import type { HttpChain } from "../http/chain.ts";
import { httpConnectionManager, traced } from "../http/connection-manager.ts";
import { blackHoleCluster, passthroughCluster } from "../outbound/cluster-name.ts";
import { outboundPolicy } from "../outbound/policy.ts";
import { delimited } from "../outbound/stat-name.ts";
import { encodePart, resourceOf } from "../part.ts";
import { wildcards } from "../proxy/addresses.ts";
import { resourceRecipe } from "../recipe.ts";
import { catchAllHost } from "../route/catch-all.ts";
import { destinationCluster } from "../route/destination.ts";
import { accessLogs } from "../telemetry/access-log.ts";
import { statsNetworkFilters } from "../telemetry/stats.ts";
import type { View } from "../view.ts";
import { plaintextHttp } from "./outbound-chain.ts";
import type { TcpFilters } from "./outbound-target.ts";

export const captureListenerName = "virtualOutbound";

/** Only plain HTTP to unknown hosts has something in it that tells who the proxy is. */
export const plainCaptureListener = resourceRecipe(outboundFacet, types.listener, (view) =>
  buildCapture(view, undefined),
);
export const tracedCaptureListener = resourceRecipe(tracedFacet, types.listener, (view) =>
  buildCapture(view, traced(view, "outbound").bytes),
);

export const isTracedCapture = (view: View<OutboundFacet>): boolean =>
  outboundPolicy(view).mode === "ALLOW_ANY_DYNAMIC_DNS";

function buildCapture(view: View<OutboundFacet>, tracing: Uint8Array | undefined): Resource {
  const port = view.mesh.settings().proxyListenPort ?? 15001;
  const { filters, needs } = catchAllFilters(view);
  const listener = create(ListenerSchema, {
    name: captureListenerName,
    address: address(wildcards(view.proxy)[0], port),
    useOriginalDst: true,
    trafficDirection: TrafficDirection.OUTBOUND,
    maxConnectionsToAcceptPerSocketEvent: 1,
    listenerFilters: tracing ? [httpInspector()] : [],
    accessLog: accessLogs(view, "outbound", "listener"),
    filterChains: [
      loopChain(view, port),
      ...(tracing ? [dynamicHttpChain(view, tracing)] : []),
      create(FilterChainSchema, { name: "virtualOutbound-catchall-tcp", filters: [...filters] }),
    ],
    ...(view.proxy.interception === "TPROXY" ? { transparent: true } : {}),
  });
  return resourceOf(captureListenerName, encodePart(ListenerSchema, listener, needs));
}

/** Where traffic goes that no listener is for. */
export function catchAllFilters(view: View<OutboundFacet>): TcpFilters {
  const { mode, egressProxy } = outboundPolicy(view);
  const allowed = egressProxy ? destinationCluster(egressProxy, undefined, 0) : passthroughCluster;
  const cluster = mode === "REGISTRY_ONLY" ? blackHoleCluster : allowed;
  const target = { statPrefix: cluster, clusters: [{ name: cluster, weight: 0 }], weighted: false };
  return { filters: [...statsNetworkFilters(view, "outbound"), tcpProxy(view, "outbound", target)], needs: [cluster] };
}

/** What is addressed to this very port was not captured: passed on, it would come back for ever. */
function loopChain(view: View<OutboundFacet>, port: number): FilterChain {
  return create(FilterChainSchema, {
    name: "virtualOutbound-blackhole",
    filterChainMatch: chainMatch({ destinationPort: port }),
    filters: [...statsNetworkFilters(view, "outbound"), plainTcpProxy(blackHoleCluster)],
  });
}

/** Plain HTTP to unknown hosts: resolved by the name that is asked for, not by the address. */
function dynamicHttpChain(view: View<OutboundFacet>, tracing: Uint8Array): FilterChain {
  const config = namedRouteConfig("allow_any_dynamic_dns");
  config.virtualHosts.push(fromBinary(VirtualHostSchema, catchAllHost(view).bytes));
  const chain: HttpChain = {
    view,
    direction: "outbound",
    protocol: "HTTP",
    port: 0,
    dynamicHost: undefined,
    statPrefix: delimited(`outbound_${captureListenerName}_allow_any_dynamic_dns`),
    routes: { config },
  };
  return create(FilterChainSchema, {
    name: "virtualOutbound-catchall-tcp-http",
    filterChainMatch: chainMatch({ applicationProtocols: plaintextHttp }),
    filters: [httpConnectionManager(chain, tracing)],
  });
}
