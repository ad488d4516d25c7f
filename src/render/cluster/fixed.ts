/** Clusters that every proxy has whatever the mesh contains: for traffic that no service is known for. */
import { create } from "@bufbuild/protobuf";
import {
  type Cluster,
  Cluster_DiscoveryType,
  Cluster_LbPolicy,
  ClusterSchema,
} from "../../gen/envoy/config/cluster/v3/cluster_pb.js";
import type { EgressFacet } from "../../model/index.ts";
import { loopBind } from "../build/bind.ts";
import { clusterFilters } from "../build/cluster-filter.ts";
import { discoveryType } from "../build/discovery.ts";
import { duration } from "../build/duration.ts";
import type { Fields } from "../build/fields.ts";
import {
  allowAnyDynamicDnsCluster,
  blackHoleCluster,
  inboundPassthroughCluster,
  passthroughCluster,
} from "../outbound/cluster-name.ts";
import { outboundPolicy } from "../outbound/policy.ts";
import { delimited } from "../outbound/stat-name.ts";
import { credentialServer, hasCredentialServer } from "../proxy/secret-server.ts";
import { circuitBreakers, connectionOptions, connectTimeout } from "../traffic-policy/connection-pool.ts";
import { preservesHeaderCase } from "../traffic-policy/http-options.ts";
import { buildPassthroughHttpOptions } from "../traffic-policy/http-options-build.ts";
import type { View } from "../view.ts";
import { buildAnyHost } from "./any-host.ts";
import { buildCredentialServer } from "./credential-server.ts";

type ClusterInit = Fields<typeof ClusterSchema>;

/** A gateway has no original destination, and nothing behind it on the same machine. */
const sidecarOnly: ReadonlyMap<string, (view: View<EgressFacet>) => Cluster> = new Map([
  [passthroughCluster, buildPassthrough],
  [inboundPassthroughCluster, buildInboundPassthrough],
]);
const everywhere: ReadonlyMap<string, (view: View<EgressFacet>) => Cluster> = new Map([
  [blackHoleCluster, buildBlackHole],
]);

const anyHost: ReadonlyMap<string, (view: View<EgressFacet>) => Cluster> = new Map([
  [allowAnyDynamicDnsCluster, buildAnyHost],
]);

/** For proxies beside which somebody serves credentials. */
const credentials: ReadonlyMap<string, (view: View<EgressFacet>) => Cluster> = new Map([
  [credentialServer, buildCredentialServer],
]);

export function fixedClusters(view: View<EgressFacet>): ReadonlyMap<string, (view: View<EgressFacet>) => Cluster> {
  const served = hasCredentialServer(view.proxy) ? credentials : [];
  if (view.proxy.type === "router") return new Map([...everywhere, ...served]);
  const resolves = outboundPolicy(view).mode === "ALLOW_ANY_DYNAMIC_DNS";
  return new Map([...everywhere, ...sidecarOnly, ...(resolves ? anyHost : []), ...served]);
}

function buildBlackHole(view: View<EgressFacet>): Cluster {
  return create(ClusterSchema, {
    name: blackHoleCluster,
    altStatName: delimited(blackHoleCluster),
    ...discoveryType(Cluster_DiscoveryType.STATIC),
    connectTimeout: duration(view.mesh.settings().connectTimeout),
  });
}

function buildPassthrough(view: View<EgressFacet>): Cluster {
  return create(ClusterSchema, {
    name: passthroughCluster,
    ...originalDestination(view),
    filters: clusterFilters(view.proxy),
  });
}

function buildInboundPassthrough(view: View<EgressFacet>): Cluster {
  return create(ClusterSchema, {
    name: inboundPassthroughCluster,
    ...originalDestination(view),
    upstreamBindConfig: loopBind(view.proxy, "each"),
  });
}

/** Both directions count under one name, as Istio's do. */
function originalDestination(view: View<EgressFacet>): ClusterInit {
  const settings = view.mesh.settings();
  const pool = settings.defaultTrafficPolicy?.connectionPool;
  return {
    altStatName: delimited(passthroughCluster),
    ...discoveryType(Cluster_DiscoveryType.ORIGINAL_DST),
    lbPolicy: Cluster_LbPolicy.CLUSTER_PROVIDED,
    connectTimeout: connectTimeout(settings, pool),
    circuitBreakers: circuitBreakers(pool, undefined),
    upstreamConnectionOptions: connectionOptions(settings, pool),
    typedExtensionProtocolOptions: buildPassthroughHttpOptions(preservesHeaderCase(view.proxy)),
  };
}
