/** What a proxy sees in; `sidecarz` and `telemetryz` of one proxy, as istiod shows them, out. */
import { lazyFields, lazyList } from "../../lib/index.ts";
import type { Scope } from "../../mesh/index.ts";
import type { Config, ProxyClass, TelemetrySpec } from "../../model/index.ts";
import { serviceShape } from "./service-shape.ts";

export interface ScopeContext {
  readonly cluster: string;
  readonly domain: string;
}

export function scopeShape(scope: Scope, labels: ProxyClass["labels"], context: ScopeContext): object {
  const shown = (key: string): readonly (readonly [string, object])[] => {
    const service = scope.service(key);
    return service ? [[service.host, serviceShape(service, context.cluster)]] : [];
  };
  const list = (keys: readonly string[]): object =>
    lazyList(keys.values().flatMap((key) => shown(key).map(([, service]) => service)));
  const rules = scope.services.values().flatMap((key) => rulesOf(scope, key, labels, context));
  return lazyFields([
    ["version", ""],
    ["name", scope.sidecar?.meta.name ?? "default-sidecar"],
    ["namespace", scope.namespace],
    ["outboundTrafficPolicy", scope.sidecar?.spec.outboundTrafficPolicy ?? { mode: "ALLOW_ANY" }],
    ["services", list(scope.services)],
    ["egressListenerServices", lazyList(scope.egress.map(({ services }) => list(services)))],
    ["servicesByHostname", lazyFields(scope.services.values().flatMap(shown))],
    ["sidecar", scope.sidecar?.spec ?? null],
    ["destinationRules", lazyFields(rules)],
  ]);
}

function rulesOf(
  scope: Scope,
  key: string,
  labels: ProxyClass["labels"],
  { domain }: ScopeContext,
): readonly (readonly [string, readonly object[]])[] {
  const rule = scope.destinationRule(key, labels);
  if (!rule) return [];
  const { name, namespace, uid, resourceVersion, creationTimestamp, generation } = rule.meta;
  const from = rule.from.map((one) => {
    const [Namespace = "", Name = ""] = one.split("/");
    return { Namespace, Name };
  });
  const object = {
    type: { group: "networking.istio.io", version: "v1", kind: "DestinationRule" },
    ...{ uid, name, namespace, domain, resourceVersion, creationTimestamp, generation },
    ...{ Spec: rule.spec, Status: {}, Extra: null },
  };
  return [[rule.spec.host ?? "", [{ exportTo: {}, from, rule: object }]]];
}

const nobody = { Namespace: "", Name: "" };

/** Which object each level of a proxy's telemetry comes from, and what they say. */
export function telemetryShape(telemetries: readonly Config<TelemetrySpec>[], rootNamespace: string): object {
  const named = (found: Config<TelemetrySpec> | undefined): object =>
    found ? { Namespace: found.meta.namespace, Name: found.meta.name } : nobody;
  const isWide = ({ spec }: Config<TelemetrySpec>): boolean =>
    spec.selector === undefined && spec.targetRefs === undefined;
  const levels = {
    Root: named(telemetries.find((one) => isWide(one) && one.meta.namespace === rootNamespace)),
    Proxy: nobody,
    Namespace: named(telemetries.find((one) => isWide(one) && one.meta.namespace !== rootNamespace)),
    Workload: named(telemetries.find((one) => !isWide(one))),
  };
  const of = (field: "metrics" | "accessLogging" | "tracing", name: string): readonly object[] =>
    telemetries.flatMap(({ spec }) => {
      const said = spec[field];
      return said === undefined || said.length === 0 ? [] : [{ ...levels, [name]: said }];
    });
  return {
    ...levels,
    Metrics: of("metrics", "Metrics"),
    Logging: of("accessLogging", "Logging"),
    Tracing: of("tracing", "Tracing"),
  };
}
