/** The mesh's settings for unknown destinations in; the cluster that resolves whatever host a request names, out. */
import { create } from "@bufbuild/protobuf";
import { type Cluster, Cluster_LbPolicy, ClusterSchema } from "../../gen/envoy/config/cluster/v3/cluster_pb.js";
import type { BuildFacet, ClientTLSSettings } from "../../model/index.ts";
import { clusterFilters } from "../build/cluster-filter.ts";
import { dynamicDiscovery } from "../build/discovery.ts";
import { anyHostDnsCache } from "../filters/dynamic-forward-proxy.ts";
import { allowAnyDynamicDnsCluster } from "../outbound/cluster-name.ts";
import { delimited } from "../outbound/stat-name.ts";
import { offeredAlpn } from "../proxy/profile.ts";
import { fileServer, hasCredentialServer } from "../proxy/secret-server.ts";
import { circuitBreakers, connectionOptions, connectTimeout } from "../traffic-policy/connection-pool.ts";
import { preservesHeaderCase, unknownHttp } from "../traffic-policy/http-options.ts";
import { buildHttpOptions, buildPassthroughHttpOptions } from "../traffic-policy/http-options-build.ts";
import { autoNames, type ClientTls, hostlessTls } from "../traffic-policy/tls.ts";
import { clusterSockets } from "../traffic-policy/transport-socket.ts";
import type { View } from "../view.ts";

export function buildAnyHost(view: View<BuildFacet>): Cluster {
  const settings = view.mesh.settings();
  const tls = tlsOf(view, settings.outboundTrafficPolicy?.tls);
  const names = autoNames(tls, true);
  const checked = names.autoSni && names.autoSanValidation;
  return create(ClusterSchema, {
    name: allowAnyDynamicDnsCluster,
    altStatName: delimited(allowAnyDynamicDnsCluster),
    ...dynamicDiscovery(anyHostDnsCache(view.proxy), !checked),
    lbPolicy: Cluster_LbPolicy.CLUSTER_PROVIDED,
    connectTimeout: connectTimeout(settings, undefined),
    circuitBreakers: circuitBreakers(undefined, undefined),
    upstreamConnectionOptions: connectionOptions(settings, undefined),
    typedExtensionProtocolOptions:
      names.autoSni || names.autoSanValidation
        ? buildHttpOptions({ ...unknownHttp, ...names })
        : buildPassthroughHttpOptions(preservesHeaderCase(view.proxy)),
    ...clusterSockets(tls, {
      defaultSni: "",
      meshAlpn: offeredAlpn(view.proxy, "Unsupported", false),
      http2: false,
      tlsDefaults: settings.tlsDefaults,
      originalDestination: false,
      proxyProtocol: undefined,
      fileServer: fileServer(view.proxy),
      hasCredentialServer: hasCredentialServer(view.proxy),
    }),
    filters: clusterFilters(view.proxy),
  });
}

function tlsOf(view: View<BuildFacet>, settings: ClientTLSSettings | undefined): ClientTls {
  return settings ? hostlessTls(settings, view.proxy) : { mode: "plain" };
}
