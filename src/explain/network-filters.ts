/** The network filters of a chain and a connection in; where they send it, or how they end it, out. */
import type { Filter } from "../gen/envoy/config/listener/v3/listener_components_pb.js";
import { ExtAuthzSchema } from "../gen/envoy/extensions/filters/network/ext_authz/v3/ext_authz_pb.js";
import { RBACSchema } from "../gen/envoy/extensions/filters/network/rbac/v3/rbac_pb.js";
import { ConfigSchema as SetFilterStateSchema } from "../gen/envoy/extensions/filters/network/set_filter_state/v3/set_filter_state_pb.js";
import { type TcpProxy, TcpProxySchema } from "../gen/envoy/extensions/filters/network/tcp_proxy/v3/tcp_proxy_pb.js";
import { matchesMetadata } from "./match/metadata.ts";
import type { ProxyView } from "./proxy-view.ts";
import { evaluateRbac, type Subject } from "./rbac.ts";
import { denied, ruleHints, rulesText } from "./rbac-words.ts";
import type { Connection } from "./request.ts";
import { type Choice, type Outcome, percent, type Recorder, type Step } from "./trace.ts";
import { typeNameOf, unpack } from "./unpack.ts";
import { type Forwarded, forward } from "./upstream/forward.ts";

export interface NetworkInput {
  readonly proxy: ProxyView;
  readonly recorder: Recorder;
  readonly resource: Step["resource"];
  readonly connection: Connection;
  readonly subject: Subject;
}

export type NetworkResult =
  | { readonly kind: "closed"; readonly cluster: string; readonly outcome: Outcome }
  | {
      readonly kind: "forward";
      readonly cluster: string;
      readonly forwarded: Extract<Forwarded, { kind: "connection" }>;
    }
  /** One that looks into HTTP takes over, or none does anything. */
  | { readonly kind: "http"; readonly filter: Filter | undefined };

const prefix = "envoy.extensions.filters.network.";
const harmless: ReadonlySet<string> = new Set([
  "udpa.type.v1.TypedStruct",
  "stats.PluginConfig",
  "envoy.tcp.metadataexchange.config.MetadataExchange",
]);

export function runNetworkFilters(filters: readonly Filter[], input: NetworkInput): NetworkResult {
  const { proxy, recorder, resource } = input;
  let { subject } = input;
  let alpn: readonly string[] | undefined;
  for (const filter of filters) {
    const config = filter.configType.case === "typedConfig" ? filter.configType.value : undefined;
    const type = typeNameOf(config);
    if (type === `${prefix}http_connection_manager.v3.HttpConnectionManager`) return { kind: "http", filter };
    const tcp = unpack(TcpProxySchema, config);
    if (tcp) return proxyTcp(tcp, input, alpn);
    const rbac = unpack(RBACSchema, config);
    if (rbac?.shadowRules) {
      const { matched } = evaluateRbac(rbac.shadowRules, subject);
      const notes = matched ? { [`${rbac.shadowRulesStatPrefix}shadow_effective_policy_id`]: matched.name } : {};
      subject = {
        ...subject,
        metadata: new Map([...subject.metadata, ["envoy.filters.network.rbac", notes] as const]),
      };
    }
    if (rbac?.rules) {
      const verdict = evaluateRbac(rbac.rules, subject);
      recorder.step({
        proxy: proxy.name,
        stage: "authorization",
        decision: rulesText(rbac.rules, verdict),
        lost: verdict.lost.map(({ name, why }) => `${name}: ${why}`),
        resource,
        hints: ruleHints(rbac.rules, verdict),
      });
      if (!verdict.allowed)
        return {
          kind: "closed",
          cluster: clusterBehind(filters, recorder),
          outcome: { kind: "closed", flags: [], details: denied(verdict) },
        };
    }
    const asked = unpack(ExtAuthzSchema, config);
    if (asked && (!asked.filterEnabledMetadata || matchesMetadata(asked.filterEnabledMetadata, subject.metadata))) {
      recorder.step({
        proxy: proxy.name,
        stage: "authorization",
        decision: "asks an external service, which decides",
        resource,
      });
      recorder.assume("the external authorisation service agrees; otherwise the connection is closed");
    }
    alpn = declaredAlpn(filter) ?? alpn;
    if (!rbac && !asked && !isKnown(type)) {
      recorder.step({
        proxy: proxy.name,
        stage: "network filter",
        decision: `${filter.name} is not evaluated`,
        resource,
      });
      recorder.assume(`the filter ${filter.name} lets the connection pass`);
    }
  }
  return { kind: "http", filter: undefined };
}

const isKnown = (type: string): boolean => harmless.has(type) || type === `${prefix}set_filter_state.v3.Config`;

/** A chain that passes bytes on may say which protocols TLS shall offer. */
function declaredAlpn({ configType }: Filter): readonly string[] | undefined {
  const config = configType.case === "typedConfig" ? unpack(SetFilterStateSchema, configType.value) : undefined;
  const values = [
    ...(config?.onNewConnection ?? []),
    ...(config?.onDownstreamTlsHandshake ?? []),
    ...(config?.onDownstreamData ?? []),
  ];
  const found = values.find(
    ({ key, factoryKey }) =>
      (key.case === "objectKey" ? key.value : factoryKey) === "envoy.network.application_protocols",
  );
  const format = found?.value.case === "formatString" ? found.value.value.format : undefined;
  const source = format?.case === "textFormatSource" ? format.value.specifier : undefined;
  const text =
    format?.case === "textFormat" ? format.value : source?.case === "inlineString" ? source.value : undefined;
  return text?.split(",");
}

function proxyTcp(
  tcp: TcpProxy,
  { proxy, recorder, resource, connection }: NetworkInput,
  alpn: readonly string[] | undefined,
): NetworkResult {
  const options = clustersOf(tcp);
  if (options.length === 0) return { kind: "http", filter: undefined };
  const { label: cluster, odds } = recorder.choose("weighted clusters", options);
  const lost = options
    .filter(({ label }) => label !== cluster)
    .map(({ label, odds: other }) => `${label}: ${percent(other)}`);
  recorder.step({
    proxy: proxy.name,
    stage: "network filter",
    decision: `bytes are passed on to ${cluster}`,
    lost,
    resource,
    ...(options.length > 1 ? { odds } : {}),
  });
  const forwarded = forward({ proxy, recorder, cluster, connection, alpn: () => alpn });
  if (forwarded.kind === "none")
    return { kind: "closed", cluster, outcome: { kind: "closed", flags: forwarded.flags, details: forwarded.details } };
  return { kind: "forward", cluster, forwarded };
}

function clustersOf({ clusterSpecifier: wanted }: TcpProxy): readonly Choice[] {
  if (wanted.case === "cluster") return [{ label: wanted.value, odds: 1 }];
  const weighted = wanted.case === "weightedClusters" ? wanted.value.clusters : [];
  const total = weighted.reduce((sum, { weight }) => sum + weight, 0);
  return weighted.map(({ name, weight }) => ({ label: name, odds: weight / total }));
}

/** Envoy has chosen it when policies look at the first bytes. */
function clusterBehind(filters: readonly Filter[], recorder: Recorder): string {
  const configs = filters.flatMap(({ configType }) => (configType.case === "typedConfig" ? [configType.value] : []));
  const [tcp] = configs.flatMap((config) => unpack(TcpProxySchema, config) ?? []);
  const options = tcp ? clustersOf(tcp) : [];
  return options.length === 0 ? "" : recorder.choose("weighted clusters", options).label;
}
