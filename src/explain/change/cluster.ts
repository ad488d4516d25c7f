/** A cluster before and after in; what is different about the way to its host, in words, out. */
import { isDeepStrictEqual } from "node:util";
import { type Cluster, ClusterSchema } from "../../gen/envoy/config/cluster/v3/cluster_pb.js";
import type { TransportSocket } from "../../gen/envoy/config/core/v3/base_pb.js";
import { ProxyProtocolUpstreamTransportSchema } from "../../gen/envoy/extensions/transport_sockets/proxy_protocol/v3/upstream_proxy_protocol_pb.js";
import { UpstreamTlsContextSchema } from "../../gen/envoy/extensions/transport_sockets/tls/v3/tls_pb.js";
import { unpack } from "../unpack.ts";
import type { Change, Pair } from "./change.ts";
import { parseClusterName } from "./cluster-name.ts";
import { decoded } from "./decoded.ts";
import { fieldDifferences } from "./field-differences.ts";

export function clusterChanges({ before, after }: Pair): readonly Change[] {
  const [old, now] = [decoded(ClusterSchema, before), decoded(ClusterSchema, after)];
  const { subject, what } = wordsOf(now?.name ?? old?.name ?? "");
  if (!old) return [{ subject, text: `${what} is new` }];
  if (!now) return [{ subject, text: `${what} is gone` }];
  return [
    ...tlsChanges(old, now, subject, what),
    ...fieldDifferences(old, now, [...tlsFields]).map((text) => ({ subject, text: `${what}: ${text}` })),
  ];
}

const tlsFields = ["transportSocket", "transportSocketMatches"] as const;

function wordsOf(name: string): { readonly subject: string; readonly what: string } {
  const parsed = parseClusterName(name);
  if (!parsed) return { subject: "", what: `cluster ${name}` };
  const { host, port, subset, direction } = parsed;
  if (direction.startsWith("inbound")) return { subject: "", what: `the way in to port ${port}` };
  return { subject: host, what: subset === "" ? `port ${port}` : `subset ${subset}, port ${port}` };
}

function tlsChanges(old: Cluster, now: Cluster, subject: string, what: string): readonly Change[] {
  if (tlsFields.every((field) => isDeepStrictEqual(old[field], now[field]))) return [];
  const [from, to] = [tlsWord(old), tlsWord(now)];
  const text = from === to ? `${what}: the settings of ${to} change` : `${what}: ${from} becomes ${to}`;
  return [{ subject, text, risk: "mtls" }];
}

function tlsWord({ transportSocket, transportSocketMatches }: Cluster): string {
  const words = transportSocketMatches.map((match) => socketWord(match.transportSocket));
  if (words.length === 0) return socketWord(transportSocket);
  const [first = "plain text"] = words.filter((word) => word !== "plain text");
  return words.includes("plain text") ? `${first} where the server has it` : first;
}

function socketWord(socket: TransportSocket | undefined): string {
  const config = socket?.configType.case === "typedConfig" ? socket.configType.value : undefined;
  const wrapped = unpack(ProxyProtocolUpstreamTransportSchema, config);
  if (wrapped) return socketWord(wrapped.transportSocket);
  const context = unpack(UpstreamTlsContextSchema, config);
  if (!context) return "plain text";
  const common = context.commonTlsContext;
  const shows = (common?.tlsCertificateSdsSecretConfigs.length ?? 0) + (common?.tlsCertificates.length ?? 0) > 0;
  return shows ? "mutual TLS" : "TLS";
}
