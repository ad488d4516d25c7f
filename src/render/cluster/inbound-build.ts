/** What stands behind an inbound cluster in, the Envoy cluster out. */
import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  type Cluster,
  Cluster_DiscoveryType,
  Cluster_LbPolicy,
  ClusterSchema,
} from "../../gen/envoy/config/cluster/v3/cluster_pb.js";
import type { MergedDestinationRule } from "../../mesh/index.ts";
import { objectName, type ServerFacet } from "../../model/index.ts";
import { loopBind } from "../build/bind.ts";
import { discoveryType } from "../build/discovery.ts";
import { seconds } from "../build/duration.ts";
import { configPath, istioMetadata, serviceMetadata } from "../build/metadata.ts";
import { singleEndpoint } from "../endpoint/load-assignment.ts";
import { clientScope } from "../outbound/client-scope.ts";
import { inboundCluster } from "../outbound/cluster-name.ts";
import { delimited, statName } from "../outbound/stat-name.ts";
import { circuitBreakers, connectionOptions, connectTimeout } from "../traffic-policy/connection-pool.ts";
import { hostPolicy, type Policy, withMeshDefaults } from "../traffic-policy/effective.ts";
import { httpOptions } from "../traffic-policy/http-options.ts";
import { buildHttpOptions } from "../traffic-policy/http-options-build.ts";
import type { View } from "../view.ts";
import type { InboundTarget } from "./inbound.ts";

/** The longest that Envoy's clock can hold: connections to the workload itself never go stale. */
const never = 9223372035;

export function buildInbound(view: View<ServerFacet>, target: InboundTarget): Cluster {
  const settings = view.mesh.settings();
  const name = inboundCluster(target.port);
  const { connectionPool: pool, retryBudget } = inboundPolicy(view, target);
  const { endpoint, servicePort } = target;
  return create(ClusterSchema, {
    name,
    altStatName: delimited(altName(view, target)),
    ...(endpoint
      ? {
          ...discoveryType(Cluster_DiscoveryType.STATIC),
          loadAssignment: singleEndpoint(name, endpoint.host, endpoint.port),
        }
      : {
          ...discoveryType(Cluster_DiscoveryType.ORIGINAL_DST),
          lbPolicy: Cluster_LbPolicy.CLUSTER_PROVIDED,
          cleanupInterval: seconds(never),
        }),
    commonLbConfig: {},
    connectTimeout: connectTimeout(settings, pool),
    circuitBreakers: circuitBreakers(pool, retryBudget),
    upstreamConnectionOptions: connectionOptions(settings, pool),
    typedExtensionProtocolOptions: buildHttpOptions(
      httpOptions({
        proxy: view.proxy,
        protocol: servicePort.protocol,
        settings,
        pool,
        outlier: undefined,
        inbound: true,
      }),
    ),
    metadata: metadataOf(view, target),
    // Towards the loopback address capture does not loop back, towards any other it would.
    ...(isLoopback(endpoint?.host) ? {} : { upstreamBindConfig: loopBind(view.proxy, "one") }),
  });
}

function isLoopback(host: string | undefined): boolean {
  return host === "127.0.0.1" || host === "::1";
}

function altName(view: View<ServerFacet>, { port, service, servicePort }: InboundTarget): string {
  const pattern = view.mesh.settings().inboundClusterStatName ?? "";
  if (pattern === "") return inboundCluster(port);
  return statName(pattern, {
    service,
    subset: "",
    port: servicePort.port,
    portName: servicePort.name,
    targetPort: port,
  });
}

/** Limits must hold on the server's side too, so the rule's pool counts here; the Sidecar's own word counts more. */
function inboundPolicy(view: View<ServerFacet>, target: InboundTarget): Policy {
  const rule = ruleOf(view, target);
  const { policy, from } = withMeshDefaults(hostPolicy(rule?.spec, target.servicePort.port), view.mesh.settings());
  const sidecar = view.mesh.sidecar(view.proxy.sidecar);
  const index = sidecar?.spec.ingress?.findIndex(({ port }) => port?.number === target.port) ?? -1;
  const listener = sidecar?.spec.ingress?.[index]?.connectionPool;
  const connectionPool = listener ?? sidecar?.spec.inboundConnectionPool;
  if (sidecar && connectionPool) {
    const field = listener ? `spec.ingress[${index}].connectionPool` : "spec.inboundConnectionPool";
    view.mesh.graph.note(objectName("Sidecar", sidecar.meta), field);
    return { ...policy, connectionPool };
  }
  const field = from.get("connectionPool");
  if (rule && field) view.mesh.graph.note(objectName("DestinationRule", rule.meta), field);
  return policy;
}

/** Rules for certain clients say nothing of the server. */
function ruleOf(view: View<ServerFacet>, { service }: InboundTarget): MergedDestinationRule | undefined {
  const scope = clientScope(view);
  const visible = scope.serviceFor(service.host);
  return visible && scope.destinationRule(visible.key, {});
}

function metadataOf(view: View<ServerFacet>, target: InboundTarget) {
  if (target.unknown) return undefined;
  const rule = ruleOf(view, target);
  const fields: JsonObject = {
    services: target.services.map(serviceMetadata),
    ...(rule?.spec.trafficPolicy ? { config: configPath("DestinationRule", rule.meta) } : {}),
  };
  return istioMetadata(fields);
}
