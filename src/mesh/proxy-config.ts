/** Mesh-wide proxy settings, ProxyConfig objects and a pod's annotation in, the settings of one proxy out. */
import { isRecord, parseYaml } from "../lib/index.ts";
import {
  type Config,
  matchesLabels,
  mergeProxyConfig,
  type ProxyConfigSpec,
  type ProxyConfigValues,
} from "../model/index.ts";

export interface ProxyConfigSources {
  readonly base: ProxyConfigValues | undefined;
  /** ProxyConfig objects, oldest first, of the root namespace, the proxy's, and again the proxy's. */
  readonly mesh: readonly Config<ProxyConfigSpec>[];
  readonly namespace: readonly Config<ProxyConfigSpec>[];
  readonly workload: readonly Config<ProxyConfigSpec>[];
  readonly labels: Readonly<Record<string, string>>;
  readonly annotation: string | undefined;
}

/** Later ones win: mesh, mesh-wide object, namespace-wide object, annotation, object that selects the workload. */
export function effectiveProxyConfig(sources: ProxyConfigSources): ProxyConfigValues {
  const wide = (list: readonly Config<ProxyConfigSpec>[]): Config<ProxyConfigSpec> | undefined =>
    list.find(({ spec }) => !spec.selector);
  const selecting = sources.workload.find(({ spec }) => {
    const labels = spec.selector?.matchLabels ?? {};
    return Object.keys(labels).length > 0 && matchesLabels(labels, sources.labels);
  });
  const layers = [
    valuesOf(wide(sources.mesh)),
    valuesOf(wide(sources.namespace)),
    annotationValues(sources.annotation),
    valuesOf(selecting),
  ];
  // Most proxies have none of their own: then all have the same object, and nothing is put together for each.
  return layers
    .filter((layer) => Object.keys(layer).length > 0)
    .reduce((merged, layer) => mergeProxyConfig(layer, merged), sources.base ?? {});
}

function valuesOf(config: Config<ProxyConfigSpec> | undefined): ProxyConfigValues {
  const { concurrency, environmentVariables, image } = config?.spec ?? {};
  return {
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(environmentVariables ? { proxyMetadata: environmentVariables } : {}),
    ...(image ? { image } : {}),
  };
}

/** An annotation that cannot be read counts as absent: the pod's owner is told by the injector. */
function annotationValues(text: string | undefined): ProxyConfigValues {
  if (!text) return {};
  try {
    const [document] = parseYaml(text, { maxBytes: 64 * 1024, maxDepth: 50 });
    return isRecord(document) ? (document as ProxyConfigValues) : {};
  } catch {
    return {};
  }
}
