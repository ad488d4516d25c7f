/** Sources in; the classes with their proxies out, put together once for all objects that are judged at the same moment. */
import type { Graph } from "../../collections/index.ts";
import type { Renderer } from "../../render/index.ts";
import type { Ads, ProxyNode, ProxyProgress } from "../../xds/index.ts";
import type { ControlledSource } from "../resource-source.ts";

export interface RosterSources {
  readonly graph: Pick<Graph, "version">;
  readonly resources: Pick<ControlledSource, "rendered" | "made">;
  readonly ads: Pick<Ads, "progress" | "moves">;
}

export interface ClassEntry {
  readonly renderer: Renderer;
  readonly members: readonly Member[];
}

interface Member {
  readonly node: ProxyNode;
  /** Undefined while it has not asked for anything. */
  readonly proxy: ProxyProgress | undefined;
}

export type Roster = () => readonly ClassEntry[];

/** What a proxy may be about to ask for is awaited for a moment, which has to end. */
const maxAgeMs = 200;

export function createRoster({ graph, resources, ads }: RosterSources): Roster {
  /** Who has gone is not held for it. */
  let known: { readonly all: WeakRef<readonly ClassEntry[]>; readonly key: string; readonly atMs: number } | undefined;
  return () => {
    const nowMs = performance.now();
    const key = `${ads.moves} ${graph.version}`;
    // While a change is made, classes come to it one after the other, and nobody says when.
    const isAll = resources.made === graph.version;
    const found = isAll && known?.key === key && nowMs - known.atMs < maxAgeMs ? known.all.deref() : undefined;
    if (found) return found;
    const proxies = new Map([...ads.progress()].map((proxy) => [proxy.node, proxy]));
    const all = [...resources.rendered()].map(({ renderer, nodes }) => ({
      renderer,
      members: [...nodes].map((node) => ({ node, proxy: proxies.get(node) })),
    }));
    known = { all: new WeakRef(all), key, atMs: nowMs };
    return all;
  };
}
