/** A port that a workload serves, or any other, in; its filter chains, as plans and as encoded parts, out. */

import { create } from "@bufbuild/protobuf";
import { type Filter, FilterChainSchema } from "../../gen/envoy/config/listener/v3/listener_components_pb.js";
import type { InboundFacet } from "../../model/index.ts";
import { chainMatch } from "../build/listener-chain.ts";
import { configPath, istioMetadata } from "../build/metadata.ts";
import { inboundFacet } from "../facets.ts";
import { networkFilters, preHttpFilters } from "../filters/network-filters.ts";
import { protocolFilters, tcpProxy } from "../filters/tcp-proxy.ts";
import { type Manager, manager, managerPart, sameManager } from "../http/connection-manager.ts";
import { inboundCluster, inboundPassthroughCluster } from "../outbound/cluster-name.ts";
import { delimited, statName } from "../outbound/stat-name.ts";
import { encodePart, joined, nested, type Part, samePart } from "../part.ts";
import { recipe } from "../recipe.ts";
import { inboundRouteConfig } from "../route/inbound.ts";
import type { View } from "../view.ts";
import { type InboundMatch, inboundMatches } from "./inbound-match.ts";
import type { InboundPort, UndeclaredPort } from "./inbound-plan.ts";
import { inboundMtlsSocket } from "./inbound-tls.ts";

/** All that a chain depends on beside the policies. */
export interface ChainPlan {
  /** 0 for any port. */
  readonly port: number;
  readonly match: InboundMatch;
  /** Undefined for ports that nobody declared: traffic goes on to where it was addressed. */
  readonly target: InboundPort | undefined;
}

export function portPlans(port: InboundPort): readonly ChainPlan[] {
  return inboundMatches(port.mode, port.protocol).map((match) => ({ port: port.targetPort, match, target: port }));
}

export function passthroughPlans({ port, mode }: UndeclaredPort): readonly ChainPlan[] {
  return inboundMatches(mode, "Unsupported").map((match) => ({ port, match, target: undefined }));
}

/** Shared by all under the same policies; only what traces say of the proxy is its own. */
export function inboundChainPart(view: View<InboundFacet>, plan: ChainPlan, tracing: Uint8Array): Part {
  const { part, manager: last } = sharedChain(view, JSON.stringify(plan));
  return last ? joined([part, nested(FilterChainSchema, "filters", managerPart(last, tracing))]) : part;
}

/** Makes a chain before its listener asks for it: policies may be large, and each chain has all of them. */
export function prepareInboundChain(view: View<InboundFacet>, plan: ChainPlan): void {
  sharedChain(view, JSON.stringify(plan));
}

interface Chain {
  readonly part: Part;
  readonly manager: Manager | undefined;
}

const sharedChain = recipe(
  inboundFacet,
  "inbound chain",
  (view, key): Chain => {
    const plan = JSON.parse(key) as ChainPlan;
    const { kind, terminates, transport, applicationProtocols } = plan.match;
    const target = plan.target ? portTarget(plan.target) : passthroughTarget(plan.port);
    const chain = create(FilterChainSchema, {
      name: kind === "http" ? target.httpName : target.tcpName,
      filterChainMatch: chainMatch({ destinationPort: plan.port, transport, applicationProtocols }),
      filters: kind === "http" ? preHttpFilters(view, "inbound", target.targetPort) : tcpFilters(view, target),
      ...(terminates ? { transportSocket: inboundMtlsSocket(view, kind) } : {}),
      ...(target.port?.sidecar
        ? { metadata: istioMetadata({ config: configPath("Sidecar", target.port.sidecar) }) }
        : {}),
    });
    return {
      part: encodePart(FilterChainSchema, chain, [target.cluster]),
      manager: kind === "http" ? httpManager(view, target) : undefined,
    };
  },
  (a, b) => samePart(a.part, b.part) && sameManager(a.manager, b.manager),
);

interface Target {
  readonly cluster: string;
  readonly targetPort: number;
  readonly port: InboundPort | undefined;
  readonly httpName: string;
  readonly tcpName: string;
  readonly httpStats: string;
}

/** The names are Istio's, and part of what EnvoyFilters match. */
const passthroughTarget = (targetPort: number): Target => ({
  cluster: inboundPassthroughCluster,
  targetPort,
  port: undefined,
  httpName: "virtualInbound-catchall-http",
  tcpName: "virtualInbound",
  httpStats: delimited(inboundPassthroughCluster),
});

function portTarget(port: InboundPort): Target {
  const { targetPort } = port;
  const name = `${port.binds[0]}_${targetPort}`;
  const cluster = inboundCluster(targetPort);
  return { cluster, targetPort, port, httpName: name, tcpName: name, httpStats: delimited(`inbound_${name}`) };
}

function httpManager(view: View<InboundFacet>, { cluster, targetPort, port, httpStats }: Target): Manager {
  const protocol = port?.protocol ?? "Unsupported";
  const config = inboundRouteConfig(view, { cluster, port: port?.port ?? 0, protocol, host: port?.host ?? "" });
  return manager({
    view,
    direction: "inbound",
    protocol,
    port: targetPort,
    dynamicHost: undefined,
    statPrefix: httpStats,
    routes: { config },
  });
}

function tcpFilters(view: View<InboundFacet>, target: Target): Filter[] {
  const { cluster, port } = target;
  const statPrefix = tcpStats(view, target);
  const last = [
    ...protocolFilters(port?.protocol ?? "Unsupported", statPrefix),
    tcpProxy(view, "inbound", { statPrefix, clusters: [{ name: cluster, weight: 0 }], weighted: false }),
  ];
  return networkFilters({ view, direction: "inbound", port: port?.port ?? 0, exchange: true, secured: true }, last);
}

/** The mesh's own pattern for names, where it has one. */
function tcpStats(view: View<InboundFacet>, { cluster, port }: Target): string {
  const pattern = view.mesh.settings().inboundClusterStatName;
  if (!pattern) return cluster;
  const host = port?.host ?? "";
  const service = port?.service ?? { host, name: host, namespace: "", registry: "External" as const };
  // Istio leaves this one word as it is here.
  return statName(pattern.replaceAll("%TARGET_PORT%", "\0"), {
    service,
    subset: "",
    port: port?.port ?? 0,
    portName: port ? port.portName : "virtualInbound",
    targetPort: 0,
  }).replaceAll("\0", "%TARGET_PORT%");
}
