/**
 * What can be written with our generated types and is newer than the Envoy of an older proxy. `npm run older-envoys`
 * compares the table with the descriptors inside those Envoys.
 */
import { readFileSync } from "node:fs";
import { fromBinary, type Registry } from "@bufbuild/protobuf";
import { type DescriptorProto, type EnumDescriptorProto, FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";

/** By the minor version of Envoy that first has them: messages, `message#field` and `enum=VALUE`. */
const since: ReadonlyMap<number, readonly string[]> = new Map([
  [
    39,
    [
      "envoy.config.cluster.v3.CircuitBreakers.Thresholds.RetryBudget#budget_interval",
      "envoy.config.core.v3.Http2ProtocolOptions#stream_reset_burst",
      "envoy.config.core.v3.Http2ProtocolOptions#stream_reset_rate",
      "envoy.config.core.v3.HttpProtocolOptions#max_connection_duration_jitter",
      "envoy.config.core.v3.WatchedDirectory#watch_modify",
      "envoy.config.endpoint.v3.Endpoint#observability_name",
      "envoy.config.route.v3.RetryPolicy#refresh_cluster_on_retry",
      "envoy.config.trace.v3.OpenTelemetryConfig#set_service_name_resource_attribute",
      "envoy.config.trace.v3.OpenTelemetryConfig#set_telemetry_sdk_resource_attributes",
      "envoy.extensions.filters.http.aws_lambda.v3.Config#match_excluded_headers",
      "envoy.extensions.filters.http.aws_lambda.v3.Config#match_included_headers",
      "envoy.extensions.filters.http.basic_auth.v3.BasicAuth#allow_missing",
      "envoy.extensions.filters.http.basic_auth.v3.BasicAuth#emit_dynamic_metadata",
      "envoy.extensions.filters.http.ip_tagging.v3.IPTagging#ip_tags_datasource",
      "envoy.extensions.filters.http.oauth2.v3.OAuth2Config#allowed_redirect_domains",
      "envoy.extensions.filters.http.oauth2.v3.OAuth2Config#original_request_uri",
      "envoy.extensions.filters.http.oauth2.v3.OAuth2Config#use_access_token_expiry_for_id_token_cookie",
      "envoy.extensions.filters.http.ratelimit.v3.RateLimit#metadata_namespace",
      "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager#drain_timeout_jitter",
      "envoy.extensions.filters.network.mongo_proxy.v3.MongoProxy#max_bson_depth",
      "envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy#check_drain_close",
      "envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy.TunnelingConfig#formatters",
      "envoy.extensions.network.dns_resolver.cares.v3.CaresDnsResolverConfig#qcache_max_ttl",
      "envoy.extensions.transport_sockets.quic.v3.QuicDownstreamTransport#enable_resumption",
      "envoy.extensions.transport_sockets.tls.v3.CertificateValidationContext#suppress_client_ca_list",
    ],
  ],
  [
    40,
    [
      "envoy.config.cluster.v3.Cluster#stats_matcher",
      "envoy.config.listener.v3.Listener#stats_matcher",
      "envoy.config.trace.v3.OpenTelemetryConfig#set_instrumentation_scope",
      "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager.SetCurrentClientCertDetails#issuer",
    ],
  ],
]);

/** Istio 1.32 comes with Envoy 1.40, and each has had a version whenever the other had one. */
export const envoyMinor = (istio: string): number => Number(istio.split(".")[1]) + 8;

/** What a proxy of that version of Istio does not know. */
export function newerThan(istio: string): ReadonlySet<string> {
  return new Set([...since].filter(([minor]) => minor > envoyMinor(istio)).flatMap(([, names]) => names));
}

/** All names that the generated types have, in the form of the table. */
export function writable(registry: Registry): ReadonlySet<string> {
  const names = new Set<string>();
  for (const type of registry)
    if (type.kind === "message") {
      names.add(type.typeName);
      for (const { name } of type.fields) names.add(`${type.typeName}#${name}`);
    } else if (type.kind === "enum") for (const { name } of type.values) names.add(`${type.typeName}=${name}`);
  return names;
}

const fileStart = /\n[\s\S]((?:envoy|google|udpa|validate|xds)\/[a-z0-9_/.]+\.proto)/g;

/** All names that an Envoy has: its binary holds the descriptors of its messages, one after the other, as they are. */
export function knownTo(envoy: string): ReadonlySet<string> {
  const bytes = readFileSync(envoy);
  const names = new Set<string>();
  for (const { index, 1: path = "" } of bytes.toString("latin1").matchAll(fileStart)) {
    if (bytes[index + 1] !== path.length) continue;
    const file = fromBinary(FileDescriptorProtoSchema, bytes.subarray(index, endOfFile(bytes, index)));
    for (const message of file.messageType) addMessage(names, file.package, message);
    for (const one of file.enumType) addEnum(names, file.package, one);
  }
  return names;
}

/** The syntax is a file's last field. */
const syntax = 12;
const lengthDelimited = 2;

function endOfFile(bytes: Buffer, start: number): number {
  let at = start;
  const varint = (): number => {
    let [value, shift] = [0, 0];
    for (;;) {
      const byte = bytes[at++] ?? 0;
      value |= (byte & 127) << shift;
      if (byte < 128) return value;
      shift += 7;
    }
  };
  for (;;) {
    const before = at;
    const tag = varint();
    const field = tag >> 3;
    if (field === 0 || field > syntax || (field === 1 && before !== start)) return before;
    const value = varint();
    if ((tag & 7) === lengthDelimited) at += value;
    if (field === syntax) return at;
  }
}

function addMessage(names: Set<string>, scope: string, { name, field, nestedType, enumType }: DescriptorProto): void {
  const own = `${scope}.${name}`;
  names.add(own);
  for (const one of field) names.add(`${own}#${one.name}`);
  for (const one of nestedType) addMessage(names, own, one);
  for (const one of enumType) addEnum(names, own, one);
}

function addEnum(names: Set<string>, scope: string, { name, value }: EnumDescriptorProto): void {
  for (const one of value) names.add(`${scope}.${name}=${one.name}`);
}
