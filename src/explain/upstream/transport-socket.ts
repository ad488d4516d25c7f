/** A cluster and an endpoint in; what the connection to it looks like out: TLS or not, as whom, with which names. */
import type { Cluster } from "../../gen/envoy/config/cluster/v3/cluster_pb.js";
import type { TransportSocket } from "../../gen/envoy/config/core/v3/base_pb.js";
import { ProxyProtocolUpstreamTransportSchema } from "../../gen/envoy/extensions/transport_sockets/proxy_protocol/v3/upstream_proxy_protocol_pb.js";
import { UpstreamTlsContextSchema } from "../../gen/envoy/extensions/transport_sockets/tls/v3/tls_pb.js";
import type { StringMatcher } from "../../gen/envoy/type/matcher/v3/string_pb.js";
import { isRecord } from "../../lib/index.ts";
import { validationOf } from "../listener/downstream-tls.ts";
import { unpack } from "../unpack.ts";
import type { Endpoint } from "./endpoint.ts";

export interface Transport {
  /** Name of the match that chose it. */
  readonly match: string;
  readonly tls:
    | {
        readonly sni: string;
        readonly alpn: readonly string[];
        /** Names of the secrets with the certificate that is shown; none for nobody. */
        readonly certificates: readonly string[];
        /** Names that the server may have; any where there are none. */
        readonly names: readonly StringMatcher[];
      }
    | undefined;
  readonly lost: readonly string[];
}

/** An endpoint that nobody listed has no labels. */
export function transportOf(cluster: Cluster, lb: Endpoint["lb"] | undefined): Transport {
  const labels = lb?.metadata?.filterMetadata["envoy.transport_socket_match"];
  const lost: string[] = [];
  for (const { name, match, transportSocket } of cluster.transportSocketMatches) {
    const wanted = Object.entries(isRecord(match) ? match : {});
    if (wanted.every(([key, value]) => isRecord(labels) && labels[key] === value))
      return { match: name, tls: tlsOf(transportSocket), lost };
    lost.push(`${name}: the endpoint is not ${wanted.map(([key, value]) => `${key}=${String(value)}`).join(", ")}`);
  }
  return { match: "", tls: tlsOf(cluster.transportSocket), lost };
}

function tlsOf(socket: TransportSocket | undefined): Transport["tls"] {
  const config = socket?.configType.case === "typedConfig" ? socket.configType.value : undefined;
  const wrapped = unpack(ProxyProtocolUpstreamTransportSchema, config);
  if (wrapped) return tlsOf(wrapped.transportSocket);
  const context = unpack(UpstreamTlsContextSchema, config);
  if (!context) return undefined;
  const common = context.commonTlsContext;
  return {
    sni: context.sni,
    alpn: common?.alpnProtocols ?? [],
    certificates: [
      ...(common?.tlsCertificateSdsSecretConfigs ?? []).map(({ name }) => name),
      ...(common?.tlsCertificates.length ? ["its own"] : []),
    ],
    names: validationOf(common)?.matchSubjectAltNames ?? [],
  };
}
