/** What a proxy is sent: of proxies that are seen, what was made from objects that are seen alone and names nothing hidden. */
import type { ProxyReads, ResourceReads } from "../../../read-api/index.ts";
import { ofCause, ofProxy } from "./kind-in-namespace.ts";
import type { Sight } from "./sight.ts";

export function visibleResources(reads: ResourceReads & Pick<ProxyReads, "proxy">, sight: Sight): ResourceReads {
  /** By the name that it has: what was asked for may be a part of it, or its connection. */
  const proxySeen = async (asked: string): Promise<boolean> =>
    (await sight.seenOne(await reads.proxy(asked), ({ id }) => [ofProxy(id)])) !== undefined;

  const resource: ResourceReads["resource"] = async (proxy, type, name) => {
    const found = (await proxySeen(proxy)) ? await reads.resource(proxy, type, name) : undefined;
    const seen = await sight.seenOne(found, ({ causes }) => causes.flatMap(ofCause));
    const names = await sight.hiddenNames();
    return seen && !names(JSON.stringify(seen)) ? seen : undefined;
  };

  return {
    async resources(proxy, type) {
      const all = (await proxySeen(proxy)) ? await reads.resources(proxy, type) : undefined;
      if (!all) return undefined;
      const names = await sight.hiddenNames();
      const candidates = all.filter((name) => !names(name));
      const causes = await reads.causes(proxy, type, candidates);
      const rows = candidates.map((name, i) => ({ name, causes: causes[i] ?? [] }));
      return (await sight.seen(rows, (row) => row.causes.flatMap(ofCause))).map(({ name }) => name);
    },
    async causes(proxy, type, asked) {
      if (!(await proxySeen(proxy))) return asked.map(() => []);
      const causes = await reads.causes(proxy, type, asked);
      return Promise.all(causes.map((list) => sight.seen(list, ofCause)));
    },
    resource,
    async search(proxy, words) {
      if (!(await proxySeen(proxy))) return undefined;
      return reads.search(proxy, words, async (type, name) => (await resource(proxy, type, name)) !== undefined);
    },
  };
}
