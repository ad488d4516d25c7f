/** The stages and the connected proxies in; what went wrong when they were last sent something, by istiod's names, out. */
import { createRest } from "../../lib/index.ts";
import { type ProxyStatus, shortName } from "../../xds/index.ts";
import type { Stages } from "../stages.ts";

/** Clusters that proxies are told of and that nobody serves. */
export async function withoutEndpoints({ registry, mesh }: Stages): Promise<object> {
  const rest = createRest();
  const empty: (readonly [string, object])[] = [];
  for (const key of [...registry.services.keys()]) {
    await rest();
    const service = registry.services.get(key);
    if (service?.resolution !== "static") continue;
    for (const { name, port, protocol } of service.ports)
      if (protocol !== "UDP" && mesh.endpointsByName(key, name).length === 0)
        empty.push([`outbound|${port}||${service.host}`, {}]);
  }
  return empty.length === 0 ? {} : { pilot_eds_no_instances: Object.fromEntries(empty) };
}

/** By istiod's name of the metric that counts it. */
export function refused(proxies: readonly ProxyStatus[]): object {
  const all = proxies.flatMap((proxy) =>
    proxy.types
      .filter(({ lastError }) => lastError !== "")
      .map(({ type, lastError }) => ({
        metric: `pilot_xds_${shortName(type).toLowerCase()}_reject`,
        entry: [proxy.node.id, { proxy: proxy.node.id, message: lastError }] as const,
      })),
  );
  const byMetric = [...Map.groupBy(all, ({ metric }) => metric)];
  return Object.fromEntries(
    byMetric.map(([metric, list]) => [metric, Object.fromEntries(list.map(({ entry }) => entry))]),
  );
}
