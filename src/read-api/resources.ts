/** What a proxy is sent, resource by resource, with the objects that it was made from. */
import type { Awaitable } from "./awaitable.ts";

export interface ResourceReads {
  /** Names; who made them is asked of those that are shown. */
  resources(proxy: string, type: string): Awaitable<readonly string[] | undefined>;
  /** Of each of these names. */
  causes(proxy: string, type: string, names: readonly string[]): Awaitable<readonly (readonly Cause[])[]>;
  resource(proxy: string, type: string, name: string): Awaitable<ResourceDetail | undefined>;
  /** In all that it is sent, or in those of it that are seen. */
  search(
    proxy: string,
    words: string,
    isSeen?: (type: string, name: string) => Promise<boolean>,
  ): Awaitable<FoundLines | undefined>;
}

export interface Cause {
  /** `Kind/namespace/name`. */
  readonly object: string;
  readonly field?: string;
}

/** One resource that a proxy is sent, as a row: what it is called, and who made it. */
export interface ResourceRow {
  readonly name: string;
  readonly causes: readonly Cause[];
}

export interface ResourceDetail extends ResourceRow {
  readonly type: string;
  readonly json: unknown;
  /** What it leads to. */
  readonly next: readonly { readonly type: string; readonly name: string }[];
}

/** Lines of what a proxy is sent that have the words that were looked for. */
export interface FoundLines {
  readonly lines: readonly FoundLine[];
  /** How many have them. */
  readonly resources: number;
  /** False: there was too much to look through all of it. */
  readonly isWhole: boolean;
}

export interface FoundLine {
  readonly type: string;
  readonly name: string;
  readonly line: string;
}
