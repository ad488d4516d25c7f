/** The nouns of a comparison: what is different for a proxy, in words, and whether it can hurt. */
import type { Resource } from "../../model/index.ts";

export const risks = ["deny", "lost-endpoint", "mtls"] as const;

/** Requests that may be refused now, servers that are lost, encryption that changes. */
export type Risk = (typeof risks)[number];

export interface Change {
  /** Host that it is about; empty where it is about the proxy itself. */
  readonly subject: string;
  readonly text: string;
  readonly risk?: Risk;
}

/** A resource before and after; one of them is there. */
export interface Pair {
  readonly before: Resource | undefined;
  readonly after: Resource | undefined;
}
