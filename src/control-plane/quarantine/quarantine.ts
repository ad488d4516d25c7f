/**
 * Resources that proxies refuse in; the EnvoyFilters that these are made without, for those proxies alone, out. What Envoy
 * refuses stays as it was on the proxy, and nothing else that changes in it would ever come there: so the filter that is
 * to blame goes back to the generation before, or out, until it has another. Where what was before is not known, as after
 * a start of the control plane, nothing is taken back: the resource stays as the proxy has it.
 */
import type { Graph, Source } from "../../collections/index.ts";
import { printable } from "../../lib/index.ts";
import type { ResourceType } from "../../model/index.ts";
import type { Renderer } from "../../render/index.ts";
import { type Ads, type ProxyNode, type ProxyProgress, proxyName } from "../../xds/index.ts";
import type { Refusal } from "../refusals.ts";
import type { ControlledSource } from "../source/resource-source.ts";
import type { Before, Filter, Generations } from "./generations.ts";
import { suspectsOf } from "./suspects.ts";

export interface QuarantineOptions {
  readonly graph: Graph;
  readonly generations: Generations;
  /** Where generations before are found by those who have to have them. */
  readonly kept: Source<Filter>;
  readonly resources: Pick<ControlledSource, "rendererOf" | "withhold" | "made">;
  readonly ads: Pick<Ads, "refusingProgress">;
  /** Told when something else is withheld than before. */
  readonly onChange: () => void;
}

/** An EnvoyFilter that a proxy is not sent. */
interface Held {
  readonly filter: Filter;
  /** What it has instead. */
  readonly before: Filter | undefined;
  readonly type: ResourceType;
  readonly resource: string;
  readonly words: string;
  readonly field: string;
}

/** One proxy that has refused something. */
interface Case {
  readonly held: Map<string, Held>;
  /** Generations that it refused. */
  readonly refused: WeakSet<Filter>;
  /** Of several that may be to blame: those to be tried again together. */
  trials: readonly (readonly string[])[];
  /** The graph's version that has what was decided last. */
  version: number;
}

export interface Quarantine {
  /** To be called when what proxies refuse has changed; it is looked at soon. */
  look(): void;
  /** What is withheld, as refusals of what was withheld for it. */
  refusals(): readonly Refusal[];
  /** The same of one proxy and EnvoyFilter. */
  of(node: ProxyNode, filter: string): Refusal | undefined;
  /** Whether it is still to be found what it is that a proxy refuses. */
  isOpen(node: ProxyNode): boolean;
  /** How many proxies are remembered; tests count with it. */
  readonly remembered: number;
  close(): void;
}

const maxWords = 400;
const firstMs = 50;
const maxMs = 5000;

export function createQuarantine({
  graph,
  generations,
  kept,
  resources,
  ads,
  onChange,
}: QuarantineOptions): Quarantine {
  /** They go with the connection. */
  const cases = new Map<ProxyNode, Case>();
  const open = new Set<ProxyNode>();
  let timer: NodeJS.Timeout | undefined;
  let isDue = false;
  let pauseMs = firstMs;

  /** Soon: who refuses all the time must not make it look all the time. */
  function look(): void {
    if (isDue) return;
    isDue = true;
    lookIn(firstMs);
  }

  function lookIn(ms: number): void {
    pauseMs = ms;
    clearTimeout(timer);
    timer = setTimeout(examineAll, ms).unref();
  }

  function examineAll(): void {
    isDue = false;
    const proxies = [...ads.refusingProgress(cases)];
    const present = new Set(proxies.map(({ node }) => node));
    const left = [...cases.keys()].filter((node) => !present.has(node));
    for (const node of left) cases.delete(node);
    if (left.length > 0) dropUnused();
    const before = open.size;
    open.clear();
    for (const proxy of proxies) if (!examine(proxy)) open.add(proxy.node);
    // One that never answers is looked at ever more rarely.
    if (open.size > 0 && !isDue) lookIn(Math.min(maxMs, pauseMs * 2));
    if (open.size < before || left.length > 0) onChange();
  }

  /** False where it is to be looked at again. */
  function examine(proxy: ProxyProgress): boolean {
    const own = cases.get(proxy.node) ?? { held: new Map(), refused: new WeakSet(), trials: [], version: 0 };
    const renderer = resources.rendererOf(proxy.node);
    // What was decided last has not come to it, or it has not answered.
    if (!renderer || resources.made < own.version || !proxy.isSettled()) return false;
    const unclear = new Set<string>();
    const before = new Set(own.held.keys());
    for (const [type, resource, words] of proxy.refusals()) {
      const found = blamed(own, renderer, proxy, { type, resource, words });
      for (const [key, held] of found) {
        own.held.set(key, held);
        if (found.length > 1) unclear.add(key);
        else own.refused.add(held.filter);
      }
    }
    if (unclear.size > 0) own.trials = [...halves([...unclear]), ...own.trials];
    else tryNext(own);
    if (own.held.size > 0) cases.set(proxy.node, own);
    if (before.symmetricDifference(own.held).size > 0) withhold(proxy.node, own);
    return own.trials.length === 0;
  }

  function blamed(
    own: Case,
    renderer: Renderer,
    proxy: ProxyProgress,
    about: Pick<Held, "type" | "resource" | "words">,
  ): readonly (readonly [string, Held])[] {
    const wanted = renderer.set(about.type).get(about.resource);
    if (!wanted || proxy.of(about.type, wanted) !== "refused") return [];
    const suspects = suspectsOf(renderer, wanted, proxy.accepted(about.type, about.resource));
    return [...suspects].flatMap(([key, field]) => {
      const held = own.held.has(key) ? undefined : heldOf(own, key, { ...about, field });
      return held ? [[key, held] as const] : [];
    });
  }

  /** Undefined where nothing can be put in its place. */
  function heldOf(
    own: Case,
    key: string,
    about: Pick<Held, "type" | "resource" | "words" | "field">,
  ): Held | undefined {
    const generation = generations.get(key);
    if (!generation) return undefined;
    let instead: Before = generation.before;
    while (typeof instead !== "string" && own.refused.has(instead.filter)) instead = instead.before;
    if (instead === "unknown") return undefined;
    return { ...about, filter: generation.filter, before: instead === "nothing" ? undefined : instead.filter };
  }

  /** Those that the proxy takes together were not to blame. */
  function tryNext(own: Case): void {
    const [next = [], ...others] = own.trials;
    own.trials = others;
    for (const key of next) own.held.delete(key);
  }

  function withhold(node: ProxyNode, own: Case): void {
    for (const { before } of own.held.values()) if (before) kept.set(keptKey(before), before);
    resources.withhold(
      node,
      new Map([...own.held].map(([key, { before }]) => [key, before ? keptKey(before) : undefined])),
    );
    own.version = graph.version;
    dropUnused();
    look();
    onChange();
  }

  function dropUnused(): void {
    const used = new Set(
      [...cases.values()].flatMap(({ held }) =>
        [...held.values()].flatMap(({ before }) => (before ? keptKey(before) : [])),
      ),
    );
    for (const key of kept.keys()) if (!used.has(key)) kept.delete(key);
  }

  /** Another generation is tried by everybody; one that has gone is withheld from nobody. */
  const stop = generations.subscribe((key) => {
    for (const [node, own] of cases) if (own.held.delete(key)) withhold(node, own);
  });

  const refusalOf = (node: ProxyNode, { type, resource, words, filter, field, before }: Held): Refusal => ({
    proxy: proxyName(node),
    ...{ type, resource },
    words: printable(words.slice(0, maxWords)),
    blamed: [{ object: `EnvoyFilter/${filter.meta.namespace}/${filter.meta.name}`, field }],
    instead: before ? "the generation before is kept there" : "it is left out there until its next generation",
  });

  return {
    look,
    refusals: () =>
      [...cases].flatMap(([node, own]) =>
        [...own.held].filter(([key]) => isFound(own, key)).map(([, held]) => refusalOf(node, held)),
      ),
    of(node, filter) {
      const own = cases.get(node);
      const held = own && isFound(own, filter) ? own.held.get(filter) : undefined;
      return held && refusalOf(node, held);
    },
    isOpen: (node) => isDue || open.has(node),
    get remembered() {
      return cases.size;
    },
    close() {
      stop();
      clearTimeout(timer);
    },
  };
}

const keptKey = ({ meta }: Filter): string =>
  `${meta.namespace}/${meta.name}@${meta.generation ?? meta.resourceVersion ?? ""}`;

function halves(keys: readonly string[]): readonly (readonly string[])[] {
  const half = Math.ceil(keys.length / 2);
  return [keys.slice(0, half), keys.slice(half)].filter(({ length }) => length > 0);
}

/** Not one of several that are still to be tried. */
const isFound = ({ trials }: Case, key: string): boolean => !trials.some((keys) => keys.includes(key));
