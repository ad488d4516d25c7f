/** The cluster of whoever serves credentials on a socket beside the proxy: nothing in, the cluster out. */
import { create } from "@bufbuild/protobuf";
import { type Cluster, Cluster_DiscoveryType, ClusterSchema } from "../../gen/envoy/config/cluster/v3/cluster_pb.js";
import { credentialSocket, type EgressFacet } from "../../model/index.ts";
import { discoveryType } from "../build/discovery.ts";
import { duration } from "../build/duration.ts";
import { delimited } from "../outbound/stat-name.ts";
import { credentialServer } from "../proxy/secret-server.ts";
import { buildPlainHttp2Options } from "../traffic-policy/http-options-build.ts";
import type { View } from "../view.ts";

export function buildCredentialServer(view: View<EgressFacet>): Cluster {
  const address = { address: { case: "pipe" as const, value: { path: credentialSocket } } };
  const endpoint = { hostIdentifier: { case: "endpoint" as const, value: { address } } };
  return create(ClusterSchema, {
    name: credentialServer,
    altStatName: delimited(credentialServer),
    ...discoveryType(Cluster_DiscoveryType.STATIC),
    connectTimeout: duration(view.mesh.settings().connectTimeout),
    loadAssignment: { clusterName: credentialServer, endpoints: [{ lbEndpoints: [endpoint] }] },
    typedExtensionProtocolOptions: buildPlainHttp2Options(),
  });
}
