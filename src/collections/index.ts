export type { IsPart, Provenance } from "./causes.ts";
export type { Cause } from "./cells.ts";
export type { Collection, Source } from "./collection.ts";
export { createGraph, type Graph } from "./graph.ts";
export type { MemberMemo, MemberOptions } from "./member-memo.ts";
export type { Memo } from "./memo.ts";
export type { Ordered } from "./ordered.ts";
export { sameData } from "./same-data.ts";
export { unionOf } from "./union.ts";
