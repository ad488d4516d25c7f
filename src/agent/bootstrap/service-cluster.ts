/** The node's service cluster, by which Envoy names itself in traces: settings and labels in, a name out. */
import type { ProxyConfigValues } from "../../model/index.ts";

export interface ServiceClusterOptions {
  readonly proxyConfig: ProxyConfigValues;
  readonly labels: Readonly<Record<string, string>>;
  readonly namespace: string;
  readonly workloadName: string;
}

const nameLabels = ["service.istio.io/canonical-name", "app.kubernetes.io/name", "app"];
const fallback = "istio-proxy";

export function serviceClusterName(options: ServiceClusterOptions): string {
  const { proxyConfig, labels, namespace, workloadName } = options;
  const canonical = firstLabel(labels, nameLabels) ?? (workloadName || fallback);
  switch (proxyConfig.tracingServiceName) {
    case "CANONICAL_NAME_ONLY":
      return orDefault(canonical, options);
    case "CANONICAL_NAME_AND_NAMESPACE":
      return namespace === "" ? orDefault(canonical, options) : `${canonical}.${namespace}`;
    default:
      return orDefault(proxyConfig.serviceCluster ?? fallback, options);
  }
}

function orDefault(name: string, { labels, namespace, workloadName }: ServiceClusterOptions): string {
  if (name !== "" && name !== fallback) return name;
  // For the sake of old dashboards the plain app label goes first here, and the canonical name last.
  const app = firstLabel(labels, nameLabels.toReversed());
  if (app !== undefined) return `${app}.${namespace}`;
  if (workloadName !== "") return `${workloadName}.${namespace}`;
  return namespace === "" ? fallback : `${fallback}.${namespace}`;
}

function firstLabel(labels: Readonly<Record<string, string>>, keys: readonly string[]): string | undefined {
  const key = keys.find((name) => Object.hasOwn(labels, name));
  return key === undefined ? undefined : labels[key];
}
