/** What an outbound cluster stands for in, the Envoy cluster out; nothing where DNS has no name to ask for. */
import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  type Cluster,
  Cluster_DiscoveryType,
  Cluster_LbPolicy,
  ClusterSchema,
} from "../../gen/envoy/config/cluster/v3/cluster_pb.js";
import { HealthStatus } from "../../gen/envoy/config/core/v3/health_check_pb.js";
import type { BuildFacet } from "../../model/index.ts";
import { clusterFilters } from "../build/cluster-filter.ts";
import { discoveryType, dynamicDiscovery, edsDiscovery } from "../build/discovery.ts";
import { dnsSettings } from "../build/dns.ts";
import type { Fields } from "../build/fields.ts";
import { configPath, istioMetadata, serviceMetadata } from "../build/metadata.ts";
import { clusterGroups } from "../endpoint/assignment.ts";
import { loadAssignment } from "../endpoint/load-assignment.ts";
import { hostDnsCache } from "../filters/dynamic-forward-proxy.ts";
import { sniCluster } from "../outbound/cluster-name.ts";
import { delimited, statName } from "../outbound/stat-name.ts";
import { type OutboundTarget, racesAddresses } from "../outbound/targets.ts";
import { offeredAlpn } from "../proxy/profile.ts";
import { fileServer, hasCredentialServer } from "../proxy/secret-server.ts";
import { circuitBreakers, connectionOptions, connectTimeout } from "../traffic-policy/connection-pool.ts";
import { type HttpOptions, httpOptions } from "../traffic-policy/http-options.ts";
import { buildHttpOptions } from "../traffic-policy/http-options-build.ts";
import { loadBalancer, localityConfig } from "../traffic-policy/load-balancer.ts";
import { localityPolicy } from "../traffic-policy/locality.ts";
import { outlierDetection, panicThreshold } from "../traffic-policy/outlier-detection.ts";
import { autoNames, type ClientTls, clientTls } from "../traffic-policy/tls.ts";
import { clusterSockets } from "../traffic-policy/transport-socket.ts";
import type { View } from "../view.ts";

type ClusterInit = Fields<typeof ClusterSchema>;

export function buildOutbound(view: View<BuildFacet>, target: OutboundTarget): Cluster | undefined {
  const settings = view.mesh.settings();
  const { connectionPool, outlierDetection: outlier, retryBudget } = target.effective.policy;
  const tls = tlsOf(view, target);
  const names = autoNames(tls, isDynamic(target));
  const http = { ...httpOf(view, target), ...names };
  const discovery = discoveryOf(view, target, !(names.autoSni && names.autoSanValidation) && tls.mode !== "plain");
  if (!discovery) return undefined;
  return create(ClusterSchema, {
    name: target.name,
    altStatName: delimited(altName(view, target)),
    ...discovery,
    connectTimeout: connectTimeout(settings, connectionPool),
    circuitBreakers: circuitBreakers(connectionPool, retryBudget),
    upstreamConnectionOptions: connectionOptions(settings, connectionPool),
    ...(outlier ? { outlierDetection: outlierDetection(outlier) } : {}),
    ...balancing(view, target),
    typedExtensionProtocolOptions: buildHttpOptions(http),
    ...socketsOf(view, target, tls, http),
    metadata: metadataOf(target),
    filters: clusterFilters(view.proxy),
  });
}

function isDynamic(target: OutboundTarget): boolean {
  return target.found === "dynamic-forward-proxy";
}

function keepsDestination({ found, passesThrough }: OutboundTarget): boolean {
  return passesThrough || found === "original-dst";
}

function altName(view: View<BuildFacet>, { name, service, port, subset, found }: OutboundTarget): string {
  const pattern = view.mesh.settings().outboundClusterStatName ?? "";
  if (pattern === "" || found === "dynamic-forward-proxy") return name;
  return statName(pattern, {
    service,
    subset: subset?.name ?? "",
    port: port.port,
    portName: port.name,
    targetPort: 0,
  });
}

function httpOf(view: View<BuildFacet>, { port, effective }: OutboundTarget): HttpOptions {
  return httpOptions({
    proxy: view.proxy,
    protocol: port.protocol,
    settings: view.mesh.settings(),
    pool: effective.policy.connectionPool,
    outlier: effective.policy.outlierDetection,
    inbound: false,
  });
}

function discoveryOf(view: View<BuildFacet>, target: OutboundTarget, insecure: boolean): ClusterInit | undefined {
  const { found, passesThrough, name, service } = target;
  switch (found) {
    case "dynamic-forward-proxy":
      return dynamicDiscovery(hostDnsCache(view.proxy, service.host), insecure);
    case "original-dst":
      if (lacksNames(view, target)) return undefined;
      return { ...discoveryType(Cluster_DiscoveryType.ORIGINAL_DST), ...portOverride(target) };
    case "eds":
      return passesThrough ? discoveryType(Cluster_DiscoveryType.ORIGINAL_DST) : edsDiscovery(name);
    default: {
      const groups = clusterGroups(view, target);
      if (groups.length === 0) return undefined;
      const dns = dnsSettings(view.proxy, view.mesh.settings(), racesAddresses(service));
      if (passesThrough) return { ...dns, ...discoveryType(Cluster_DiscoveryType.ORIGINAL_DST) };
      const type = found === "strict-dns" ? Cluster_DiscoveryType.STRICT_DNS : Cluster_DiscoveryType.LOGICAL_DNS;
      return { ...dns, ...discoveryType(type), loadAssignment: loadAssignment(name, groups) };
    }
  }
}

/** Where DNS has no name to ask for, the host has no cluster, and its subsets have none either. */
function lacksNames(view: View<BuildFacet>, target: OutboundTarget): boolean {
  const isDns = target.service.resolution === "dns" || target.service.resolution === "dns-round-robin";
  if (!isDns || target.subset === undefined) return false;
  return clusterGroups(view, { ...target, subset: undefined, found: "strict-dns" }).length === 0;
}

/** Of a ServiceEntry that keeps the address but moves the port. */
function portOverride({ service, port }: OutboundTarget): ClusterInit {
  const keeps = service.registry === "External" && service.resolution === "passthrough";
  if (!keeps || port.targetPort === undefined || port.targetPort === 0) return {};
  return { lbConfig: { case: "originalDstLbConfig", value: { upstreamPortOverride: port.targetPort } } };
}

function balancing(view: View<BuildFacet>, target: OutboundTarget): ClusterInit {
  const { service, effective, subset } = target;
  const { policy } = effective;
  if (isDynamic(target)) return { lbPolicy: Cluster_LbPolicy.CLUSTER_PROVIDED };
  const places = localityPolicy(view.mesh.settings(), policy.loadBalancer, service);
  return {
    commonLbConfig: {
      healthyPanicThreshold: { value: panicThreshold(policy.outlierDetection, service) },
      localityConfigSpecifier: localityConfig(places, policy.outlierDetection !== undefined),
      ...(subset === undefined ? stickyStatuses(target) : {}),
    },
    ...(keepsDestination(target) ? { lbPolicy: Cluster_LbPolicy.CLUSTER_PROVIDED } : loadBalancer(policy.loadBalancer)),
  };
}

/** Sessions that stick to an endpoint may go on with one that is draining; Envoy would drop it otherwise. */
export function stickyStatuses({ service, mode }: OutboundTarget) {
  const sticky = service.labels["istio.io/persistent-session"] || service.labels["istio.io/persistent-session-header"];
  if (!sticky || mode !== "outbound") return {};
  const { HEALTHY, DRAINING, UNKNOWN, DEGRADED } = HealthStatus;
  return { overrideHostStatus: { statuses: [HEALTHY, DRAINING, UNKNOWN, DEGRADED] } };
}

/** Behind an AUTO_PASSTHROUGH gateway the bytes are TLS already. */
function tlsOf(view: View<BuildFacet>, target: OutboundTarget): ClientTls {
  const { service, port, subset, rule, effective, mode } = target;
  if (mode === "sni-dnat") return { mode: "plain" };
  return clientTls({
    mesh: view.mesh,
    proxy: view.proxy,
    service,
    port,
    settings: effective.policy.tls,
    rawPolicy: subset ? subset.trafficPolicy : rule?.spec.trafficPolicy,
    ruleHasSelector: rule?.spec.workloadSelector !== undefined,
    sni: isDynamic(target) ? "" : sniCluster(service.host, port.port, subset?.name),
    // Who answers for a host that is found when it is asked for is not known.
    identities: () => (isDynamic(target) ? [] : view.mesh.identities(service.key)),
  });
}

function socketsOf(view: View<BuildFacet>, target: OutboundTarget, tls: ClientTls, http: HttpOptions): ClusterInit {
  const http2 = http.upstream === "http2";
  const proxyProtocol = target.effective.policy.proxyProtocol;
  return clusterSockets(tls, {
    defaultSni: isDynamic(target) ? "" : target.name,
    meshAlpn: offeredAlpn(view.proxy, target.port.protocol, http2),
    http2,
    tlsDefaults: view.mesh.settings().tlsDefaults,
    originalDestination: keepsDestination(target),
    proxyProtocol: proxyProtocol && target.mode === "outbound" ? (proxyProtocol.version ?? "V1") : undefined,
    fileServer: fileServer(view.proxy),
    hasCredentialServer: hasCredentialServer(view.proxy),
  });
}

function metadataOf(target: OutboundTarget) {
  const { service, rule, subset, effective } = target;
  const fields: JsonObject = {
    ...(isDynamic(target) ? {} : { services: [serviceMetadata(service)] }),
    ...(service.meshExternal && target.mode === "outbound" && !subset ? { external: true } : {}),
    ...(rule ? { config: configPath("DestinationRule", rule.meta) } : {}),
    ...(subset ? { subset: subset.name ?? "" } : {}),
    ...(rule && negotiatesItself(effective.policy.tls?.mode) ? { alpn_override: "false" } : {}),
  };
  return Object.keys(fields).length > 0 ? istioMetadata(fields) : undefined;
}

/** Towards such servers Istio's ALPN filter must keep out. */
function negotiatesItself(mode: string | undefined): boolean {
  return mode === "SIMPLE" || mode === "MUTUAL";
}
