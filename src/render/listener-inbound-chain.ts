/** A port that a workload serves, or any other, in; its filter chains, as plans and as encoded parts, out. */
import { create } from "@bufbuild/protobuf";
import { type Filter, FilterChainSchema } from "../gen/envoy/config/listener/v3/listener_components_pb.js";
import { chainMatch } from "./build/listener-chain.ts";
import { configPath, istioMetadata } from "./build/metadata.ts";
import { inboundCluster, inboundPassthroughCluster } from "./cluster-name.ts";
import { delimited, statName } from "./cluster-stat-name.ts";
import { networkFilters, preHttpFilters } from "./filters/network-filters.ts";
import { protocolFilters, tcpProxy } from "./filters/tcp-proxy.ts";
import { httpConnectionManager } from "./http-connection-manager.ts";
import { type InboundMatch, inboundMatches } from "./listener-inbound-match.ts";
import { type InboundPort, inboundPort, mtlsMode, undeclaredMtlsPorts } from "./listener-inbound-plan.ts";
import { inboundMtlsSocket } from "./listener-inbound-tls.ts";
import { inboundRouteConfig } from "./route/inbound.ts";
import { encodePart, type Part, type View } from "./view.ts";

export interface ChainPlan {
  /** Says all that the chain depends on beside the mesh. */
  readonly id: string;
  /** 0 for any port. */
  readonly port: number;
  readonly match: InboundMatch;
  /** For ports that nobody declared: traffic goes on to where it was addressed. */
  readonly passthrough: boolean;
}

export function portPlans(_view: View, port: InboundPort): readonly ChainPlan[] {
  return inboundMatches(port.mode, port.protocol).map((match, index) => ({
    id: `listener|inbound|${port.targetPort}|${port.mode}|${index}`,
    port: port.targetPort,
    match,
    passthrough: false,
  }));
}

export function passthroughPlans(view: View): readonly ChainPlan[] {
  return [0, ...undeclaredMtlsPorts(view)].flatMap((port) => {
    const mode = mtlsMode(view, port);
    return inboundMatches(mode, "Unsupported").map((match, index) => ({
      id: `listener|inbound|*|${port}|${mode}|${index}`,
      port,
      match,
      passthrough: true,
    }));
  });
}

export function inboundChainPart(view: View, plan: ChainPlan): Part {
  return view.part(plan.id, () => {
    const { kind, terminates, transport, applicationProtocols } = plan.match;
    const target = plan.passthrough ? passthroughTarget(plan.port) : portTarget(view, plan.port);
    const chain = create(FilterChainSchema, {
      name: kind === "http" ? target.httpName : target.tcpName,
      filterChainMatch: chainMatch({ destinationPort: plan.port, transport, applicationProtocols }),
      filters: kind === "http" ? httpFilters(view, target) : tcpFilters(view, target),
      ...(terminates ? { transportSocket: inboundMtlsSocket(view, kind) } : {}),
      ...(target.port?.sidecar
        ? { metadata: istioMetadata({ config: configPath("Sidecar", target.port.sidecar) }) }
        : {}),
    });
    return encodePart(FilterChainSchema, chain, [target.cluster]);
  });
}

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

function portTarget(view: View, targetPort: number): Target {
  const port = inboundPort(view, targetPort);
  const name = `${port?.binds[0] ?? ""}_${targetPort}`;
  const cluster = inboundCluster(targetPort);
  return { cluster, targetPort, port, httpName: name, tcpName: name, httpStats: delimited(`inbound_${name}`) };
}

function httpFilters(view: View, { cluster, targetPort, port, httpStats }: Target): Filter[] {
  const protocol = port?.protocol ?? "Unsupported";
  const config = inboundRouteConfig(view, { cluster, port: port?.port ?? 0, protocol, host: port?.host ?? "" });
  const manager = httpConnectionManager({
    view,
    direction: "inbound",
    protocol,
    port: targetPort,
    dynamicHost: undefined,
    statPrefix: httpStats,
    routes: { config },
  });
  return [...preHttpFilters(view, "inbound", targetPort), manager];
}

function tcpFilters(view: View, target: Target): Filter[] {
  const { cluster, port } = target;
  const statPrefix = tcpStats(view, target);
  const last = [
    ...protocolFilters(port?.protocol ?? "Unsupported", statPrefix),
    tcpProxy(view, "inbound", { statPrefix, clusters: [{ name: cluster, weight: 0 }], weighted: false }),
  ];
  return networkFilters({ view, direction: "inbound", port: port?.port ?? 0, exchange: true, secured: true }, last);
}

/** The mesh's own pattern for names, where it has one. */
function tcpStats(view: View, { cluster, port }: Target): string {
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
