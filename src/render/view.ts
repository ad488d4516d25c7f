/** What every render function is handed: the mesh, and the facet of a proxy that it may read. Nothing else can be reached. */
import type { Cause, IsPart, MemberMemo, Memo, Provenance, Tally } from "../collections/index.ts";
import type { Mesh } from "../mesh/index.ts";
import type { ProxyClass, Resource, ResourceType } from "../model/index.ts";

export interface View<F extends object = ProxyClass> {
  readonly mesh: Mesh;
  readonly proxy: F;
  /** Says that something a user wrote could not be used here, and what is done instead. */
  tell(problem: RenderProblem): void;
  /** Where recipes find what was made already. */
  readonly store: PartStore;
  /** Views of the same proxy's facets, each made once. */
  readonly facets: Map<object, View<object>>;
  /** The same for views of equal facets. */
  readonly id: number;
}

/** A user's mistake that was met while rendering and contained. */
export interface RenderProblem {
  /** `AuthorizationPolicy/ns/name`. */
  readonly object: string;
  readonly field: string;
  readonly problem: string;
}

/** Something that kept one resource from being made: a fault of ours, contained to that resource. */
export interface RenderFault {
  readonly type: ResourceType;
  readonly name: string;
  readonly error: unknown;
}

/** A patch that made or changed a resource. */
export interface AppliedPatch extends Required<Cause> {
  /** What it says: the same data is the same patch. */
  readonly patch: object;
}

export interface RecipeCount extends Readonly<Tally> {
  readonly entries: number;
}

/** How a recipe's results are made; the object stands for the recipe. */
export interface Maker<V> {
  readonly name: string;
  readonly make: (view: View<never>, key: string, last: V | undefined) => V;
  readonly equals?: (a: V, b: V) => boolean;
}

/** The same where a result is put together from what each member of a list gives. */
export interface MemberMaker<M, V> {
  readonly name: string;
  readonly list: (view: View<never>, key: string) => readonly string[];
  readonly each: (view: View<never>, member: string, key: string) => M | undefined;
  readonly prepare?: (view: View<never>, member: string) => Iterable<void>;
  readonly whole: (members: ReadonlyMap<string, M>) => V;
  readonly equals?: (a: M, b: M) => boolean;
}

export interface PartStore {
  readonly mesh: Mesh;
  memo<V>(maker: Maker<V>): Memo<V>;
  members<M, V>(maker: MemberMaker<M, V>): MemberMemo<V>;
  /** The view of a class; equal classes share it. Released when no proxy is of the class any longer. */
  classView(proxy: ProxyClass): View;
  release(view: View): void;
  /** The view of a facet, the same one for equal contents. */
  facetView<F extends object>(kind: object, content: string, project: () => F): View<F>;
  /** Tells of a resource that could not be made. */
  fault(fault: RenderFault): void;
  /** Says of a resource whether it stays because it could not be made again. */
  noteStale(resource: Resource, isStale: boolean): void;
  isStale(resource: Resource): boolean;
  /** Counts a resource that was made. */
  count(): void;
  /** How many resources were made in total. */
  readonly rendered: number;
  /** Facets, classes among them, that somebody has. */
  readonly facets: number;
  /** By recipe: what is kept, and what became of the rest. */
  readonly counts: ReadonlyMap<string, RecipeCount>;
  /** Remembers what made a resource, for its causes. */
  made(resource: Resource, provenance: (isPart?: IsPart) => Provenance, patches?: readonly AppliedPatch[]): void;
  /** The patches that a resource was made or changed by; found without going through all that it was made from. */
  patchesOf(resource: Resource): readonly AppliedPatch[];
  /** Of the whole, or of the parts of it that are meant. Worked out when it is asked for. */
  provenance(resource: Resource, isPart?: IsPart): Provenance;
}
