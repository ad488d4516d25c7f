/** Proxies: those whose Pods are seen, without what names something hidden. */
import type { ProxyDetail, ProxyReads } from "../../../read-api/index.ts";
import { ofCause, ofProxy } from "./kind-in-namespace.ts";
import { notShown, type Sight } from "./sight.ts";

export function visibleProxies(reads: ProxyReads, sight: Sight): ProxyReads {
  return {
    async proxies() {
      return sight.seen(await reads.proxies(), ({ id }) => [ofProxy(id)]);
    },
    async proxy(id) {
      const proxy = await sight.seenOne(await reads.proxy(id), (one) => [ofProxy(one.id)]);
      return proxy && seenProxy(proxy, sight);
    },
  };
}

async function seenProxy(proxy: ProxyDetail, sight: Sight): Promise<ProxyDetail> {
  const names = await sight.hiddenNames();
  const own = await sight.seen(proxy.refuses, ({ objects }) => objects.flatMap(ofCause));
  return {
    ...proxy,
    types: proxy.types.map((type) => (names(type.error) ? { ...type, error: notShown } : type)),
    held: proxy.held
      .filter(({ name }) => !names(name))
      .map((held) => ({ ...held, clusters: held.clusters.filter((name) => !names(name)) })),
    refuses: own.filter(({ resource, words }) => !names(resource) && !names(words)),
  };
}
