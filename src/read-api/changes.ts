/** Changes of objects, and what each did to proxies. */
import type { Awaitable } from "./awaitable.ts";

export interface ChangeReads {
  /** Newest first. */
  changes(): Awaitable<readonly Change[]>;
  change(id: number): Awaitable<ChangeDetail | undefined>;
}

export interface Change {
  /** Grows by one with each. */
  readonly id: number;
  readonly object: string;
  readonly namespace: string;
  readonly act: "added" | "changed" | "removed";
  readonly at: string;
  readonly generation?: number;
  /** Who wrote it, as the API notes it: a program (`kubectl-edit`), and how (`Update`, `Apply`). */
  readonly author?: { readonly manager: string; readonly operation: string };
  /** Lines of its YAML: `+`, `-` or a blank, then the line. */
  readonly diff: readonly string[];
  /** Who has it; absent until it is made for proxies. */
  readonly proxies?: ChangeProxies;
  /** What of proxies became another because of it; absent until it is made for them. */
  readonly touched?: readonly TouchedResource[];
  /** How many more. */
  readonly untold?: number;
}

export interface ChangeProxies {
  readonly affected: number;
  readonly acknowledged: number;
  readonly waiting: number;
  /** With Envoy's words; of many the first. */
  readonly refusing: readonly { readonly proxy: string; readonly part: string; readonly words: string }[];
  /** Another change of the object came before all had this one. */
  readonly isOvertaken: boolean;
}

export interface TouchedResource {
  /** `CDS`, `LDS`, … */
  readonly type: string;
  readonly name: string;
  readonly act: "added" | "changed" | "removed";
  readonly proxies: number;
}

/** A change as a row of a list. */
export interface ChangeRow extends Omit<Change, "diff" | "touched" | "untold"> {
  readonly more: number;
  readonly less: number;
}

export interface ChangeDetail extends Change {
  /** Of each of `touched`, in its order, the fields that differ; undefined where that is no longer known. */
  readonly envoy: readonly (readonly string[] | undefined)[];
}
