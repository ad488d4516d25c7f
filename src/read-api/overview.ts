/** What is wrong in a mesh, and its figures, as the first page tells them. */
import type { Awaitable } from "./awaitable.ts";

export interface OverviewReads {
  overview(): Awaitable<Overview>;
}

export interface Overview {
  readonly version: string;
  readonly since: string;
  /** Worst first. */
  readonly findings: readonly Finding[];
  readonly figures: readonly Figure[];
}

export interface Figure {
  readonly name: string;
  readonly value: number;
  /** What it is about, where that is not plain. */
  readonly note?: string;
}

/** What is wrong, with what to do about it. */
export interface Finding {
  readonly level: "error" | "warning" | "info";
  /** One word or two, by which findings of a kind are known: `refused by Envoy`. */
  readonly what: string;
  /** `Kind/namespace/name`. */
  readonly object?: string;
  readonly field?: string;
  /** `pod.namespace`. */
  readonly proxy?: string;
  readonly message: string;
  readonly remedy: string;
  /** Whose names are in the message, where it has neither object nor proxy. */
  readonly namespaces?: readonly string[];
}
