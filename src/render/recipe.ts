/**
 * How parts are made. A recipe is a module-level function of (mesh, facet of a proxy, key) that can reach nothing else:
 * what it made is shared by everyone whose facet is equal, and no closure can keep what has since changed.
 */
import type { Memo } from "../collections/index.ts";
import type { Resource, ResourceType } from "../model/index.ts";
import { type FacetKind, facetOf } from "./facet.ts";
import type { Maker, MemberMaker, View } from "./view.ts";

/** Where what a recipe makes is found, or made. */
export interface Ref<V> {
  readonly memo: Memo<V>;
  readonly key: string;
}

/** A recipe as its users see it: asked with any view that has its facet. */
export interface Recipe<F extends object, V, K extends string = string> {
  (view: View<F>, key?: K): V;
  ref(view: View<F>, key?: K): Ref<V>;
}

/** Whether asking for it makes nothing. */
export const isMade = ({ memo, key }: Ref<unknown>): boolean => memo.isFresh(key);

export function recipe<F extends object, V, K extends string = string>(
  facet: FacetKind<F>,
  name: string,
  make: (view: View<F>, key: K) => V,
  equals?: (a: V, b: V) => boolean,
): Recipe<F, V, K> {
  // Only this function makes keys for this maker.
  const maker: Maker<V> = { name, make: (view, key) => make(view, key as K), ...(equals ? { equals } : {}) };
  const id = (view: View<F>, key: K | undefined): string => `${facetOf(view, facet).id}\n${key ?? ""}`;
  return Object.assign((view: View<F>, key?: K): V => view.store.memo(maker).get(id(view, key)), {
    ref: (view: View<F>, key?: K): Ref<V> => ({ memo: view.store.memo(maker), key: id(view, key) }),
  });
}

/** A recipe whose result is put together from members: after a change it costs what has changed, not the list. */
export interface MemberRecipe<F extends object, V> extends Recipe<F, V> {
  /** Makes the members one after the other, so that a long making can be interrupted. */
  steps(view: View<F>, key?: string): Generator<void>;
}

export interface MemberParts<F extends object, M, V> {
  readonly list: (view: View<F>, key: string) => readonly string[];
  /** What one member gives; must not read the list, nor what is made of it. */
  readonly each: (view: View<F>, member: string, key: string) => M | undefined;
  /** For `steps`: makes what a large member reads beforehand, in steps of its own. */
  readonly prepare?: (view: View<F>, member: string) => Iterable<void>;
  /** Of the members that give something, in the order of the list; must read nothing. */
  readonly whole: (members: ReadonlyMap<string, M>) => V;
  readonly equals?: (a: M, b: M) => boolean;
}

export function memberRecipe<F extends object, M, V>(
  facet: FacetKind<F>,
  name: string,
  parts: MemberParts<F, M, V>,
): MemberRecipe<F, V> {
  const maker: MemberMaker<M, V> = { name, ...parts };
  const id = (view: View<F>, key: string): string => `${facetOf(view, facet).id}\n${key}`;
  return Object.assign((view: View<F>, key = ""): V => view.store.members(maker).get(id(view, key)), {
    ref: (view: View<F>, key = ""): Ref<V> => ({ memo: view.store.members(maker), key: id(view, key) }),
    steps: (view: View<F>, key = "") => view.store.members(maker).steps(id(view, key)),
  });
}

/** A key of several words, whatever characters these have. */
export const keyOf = (...words: readonly string[]): string => JSON.stringify(words);

export const wordsOf = (key: string): readonly string[] => JSON.parse(key) as readonly string[];

/** The words of a key as a memo has it, behind the facet that it is of. */
export const memoWords = (key: string): readonly string[] => wordsOf(key.slice(key.indexOf("\n") + 1));

export type ResourceRef = Ref<Resource | undefined>;

export interface ResourceRecipe<F extends object> {
  (view: View<F>, key: string): Resource | undefined;
  ref(view: View<F>, key: string): ResourceRef;
}

/** The first word of a key is the name of the resource. A fault leaves the resource as it was. */
export function resourceRecipe<F extends object>(
  facet: FacetKind<F>,
  type: ResourceType,
  make: (view: View<F>, key: string) => Resource | undefined,
): ResourceRecipe<F> {
  const maker: Maker<Resource | undefined> = {
    name: type.slice(type.lastIndexOf(".") + 1),
    equals: (a, b) => a === b || (a !== undefined && b !== undefined && a.hash === b.hash),
    make(view: View<F>, key, last) {
      const { store } = view;
      try {
        store.count();
        const resource = make(view, key);
        if (resource) store.made(resource, (isPart) => store.memo(maker).provenance(`${view.id}\n${key}`, isPart));
        // Where it comes out as it was, the last one stays.
        if (last) store.noteStale(last, false);
        return resource;
      } catch (error) {
        store.fault({ type, name: wordsOf(key)[0] ?? "", error });
        if (last) store.noteStale(last, true);
        return last;
      }
    },
  };
  const ref = (view: View<F>, key: string): ResourceRef => ({
    memo: view.store.memo(maker),
    key: `${facetOf(view, facet).id}\n${key}`,
  });
  return Object.assign(
    (view: View<F>, key: string): Resource | undefined => view.store.memo(maker).get(ref(view, key).key),
    { ref },
  );
}
