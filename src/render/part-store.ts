/**
 * Recipes in; what they made out, once for the whole mesh by (recipe, facet, key). The graph keeps what somebody reads,
 * makes it again when something that it read has changed, and drops it with its last reader.
 */
import type { IsPart, MemberMemo, Memo, Provenance } from "../collections/index.ts";
import { keyFor } from "../lib/index.ts";
import type { Mesh } from "../mesh/index.ts";
import type { ProxyClass, Resource } from "../model/index.ts";
import { facetOf } from "./facet.ts";
import { ownFacet } from "./facets.ts";
import type {
  AppliedPatch,
  Maker,
  MemberMaker,
  PartStore,
  RecipeCount,
  RenderFault,
  RenderProblem,
  View,
} from "./view.ts";

export interface PartStoreOptions {
  /** Told once per resource that could not be made; the last good one stays. */
  readonly onFault?: (fault: RenderFault) => void;
  /** Told of what users wrote and could not be used, each time that it is met. */
  readonly onProblem?: (problem: RenderProblem) => void;
}

export function createPartStore(mesh: Mesh, options: PartStoreOptions = {}): PartStore {
  const memos = new Map<{ readonly name: string }, Memo<unknown>>();
  const views = new Map<number, View<object>>();
  const byContent = new Map<object, Map<string, View<object>>>();
  const held = new Map<View, number>();
  const origins = new WeakMap<Resource, (isPart?: IsPart) => Provenance>();
  const patched = new WeakMap<Resource, readonly AppliedPatch[]>();
  const stale = new WeakSet<Resource>();
  const tell = (problem: RenderProblem): void => options.onProblem?.(problem);
  let lastId = 0;
  let rendered = 0;
  let released = 0;

  const facetView = <F extends object>(kind: object, content: string, project: () => F): View<F> => {
    const key = keyFor(content);
    let known = byContent.get(kind);
    if (!known) {
      known = new Map();
      byContent.set(kind, known);
    }
    let view = known.get(key);
    if (!view) {
      view = { mesh, proxy: project(), tell, store, facets: new Map(), id: ++lastId };
      known.set(key, view);
      views.set(view.id, view);
    }
    return view as View<F>;
  };

  /** Facets are reached from the classes that have them; the others go. */
  const dropFacets = (): void => {
    const live = new Set<View<object>>();
    const walk = (view: View<object>): void => {
      if (live.has(view)) return;
      live.add(view);
      for (const facet of view.facets.values()) walk(facet);
    };
    for (const view of held.keys()) walk(view as View<object>);
    for (const known of byContent.values()) for (const [key, view] of known) if (!live.has(view)) known.delete(key);
    for (const [id, view] of views) if (!live.has(view)) views.delete(id);
  };

  /** Ids are made by recipes: the view's id, a line break, the key. */
  const parsed = ({ name }: { readonly name: string }, id: string): [View<never>, string] => {
    const at = id.indexOf("\n");
    const view = views.get(Number(id.slice(0, at)));
    if (!view) throw new Error(`${name}: nobody has the facet of ${id.slice(at + 1)}`);
    return [view as View<never>, id.slice(at + 1)];
  };

  const store: PartStore = {
    mesh,
    memo<V>(maker: Maker<V>): Memo<V> {
      const known = memos.get(maker) as Memo<V> | undefined;
      if (known) return known;
      const memo = mesh.graph.memo<V>(
        maker.name,
        (id, last) => maker.make(...parsed(maker, id), last),
        maker.equals ? { equals: maker.equals } : {},
      );
      memos.set(maker, memo as Memo<unknown>);
      return memo;
    },
    members<M, V>(maker: MemberMaker<M, V>): MemberMemo<V> {
      const known = memos.get(maker) as MemberMemo<V> | undefined;
      if (known) return known;
      const { prepare } = maker;
      const memo = mesh.graph.members<M, V>(maker.name, {
        list: (id) => maker.list(...parsed(maker, id)),
        each(id, member) {
          const [view, key] = parsed(maker, id);
          return maker.each(view, member, key);
        },
        ...(prepare ? { prepare: (id, member) => prepare(parsed(maker, id)[0], member) } : {}),
        whole: maker.whole,
        ...(maker.equals ? { equals: maker.equals } : {}),
      });
      memos.set(maker, memo as Memo<unknown>);
      return memo;
    },
    facetView,
    classView(proxy) {
      const view = facetOf<ProxyClass>({ proxy, store, facets: new Map() }, ownFacet);
      held.set(view, (held.get(view) ?? 0) + 1);
      return view;
    },
    release(view) {
      const left = (held.get(view) ?? 0) - 1;
      if (left > 0) return void held.set(view, left);
      held.delete(view);
      released++;
      // Going through all facets for each class that goes would make many that go together costly.
      if (released * 4 < held.size) return;
      released = 0;
      dropFacets();
    },
    fault: (fault) => options.onFault?.(fault),
    noteStale(resource, isStale) {
      if (isStale) stale.add(resource);
      else stale.delete(resource);
    },
    isStale: (resource) => stale.has(resource),
    count: () => void rendered++,
    get rendered() {
      return rendered;
    },
    get facets() {
      return views.size;
    },
    get counts() {
      const counts = new Map<string, RecipeCount>();
      for (const [{ name }, memo] of memos) {
        const own = { ...memo.tally, entries: memo.size };
        const other = counts.get(name);
        counts.set(name, other ? sumOf(own, other) : own);
      }
      return counts;
    },
    made(resource, provenance, patches) {
      origins.set(resource, provenance);
      if (patches) patched.set(resource, patches);
    },
    patchesOf: (resource) => patched.get(resource) ?? [],
    provenance: (resource, isPart) => origins.get(resource)?.(isPart) ?? { causes: [], missing: [] },
  };
  return store;
}

/** Recipes may share a name. */
const sumOf = (a: RecipeCount, b: RecipeCount): RecipeCount => ({
  entries: a.entries + b.entries,
  hits: a.hits + b.hits,
  computed: a.computed + b.computed,
  dropped: a.dropped + b.dropped,
  lookups: a.lookups + b.lookups,
});
