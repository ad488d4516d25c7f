/** A heap snapshot's file in; how many objects of each constructor it has, and how large they are, out. */
import { readFileSync } from "node:fs";

export interface HeapShare {
  readonly count: number;
  readonly bytes: number;
}

export type HeapShares = ReadonlyMap<string, HeapShare>;

interface Snapshot {
  readonly snapshot: {
    readonly meta: { readonly node_fields: readonly string[]; readonly node_types: readonly unknown[] };
  };
  readonly nodes: readonly number[];
  readonly strings: readonly string[];
}

/** Objects by constructor; closures, code and the parts of strings by what they are. */
export function readHeap(file: string): HeapShares {
  const { snapshot, nodes, strings }: Snapshot = JSON.parse(readFileSync(file, "utf8"));
  const { node_fields: fields, node_types: types } = snapshot.meta;
  const typeNames = Array.isArray(types[0]) ? types[0].map(String) : [];
  const [type, name, size] = ["type", "name", "self_size"].map((field) => fields.indexOf(field)) as [
    number,
    number,
    number,
  ];
  const shares = new Map<string, HeapShare>();
  for (let at = 0; at < nodes.length; at += fields.length) {
    const kind = typeNames[nodes[at + type] ?? 0] ?? "";
    const key = kind === "object" ? (strings[nodes[at + name] ?? 0] ?? "") : `(${kind})`;
    const { count, bytes } = shares.get(key) ?? { count: 0, bytes: 0 };
    shares.set(key, { count: count + 1, bytes: bytes + (nodes[at + size] ?? 0) });
  }
  return shares;
}

/** What V8 makes of the program itself, and for itself: it grows for as long as functions become hot for the first time. */
const ofTheProgram = new Set(["(code)", "(hidden)", "(object shape)"]);

/** All but the program. */
export function dataBytes(of: HeapShares): number {
  return [...of].reduce((sum, [name, { bytes }]) => (ofTheProgram.has(name) ? sum : sum + bytes), 0);
}

export interface Growth {
  readonly name: string;
  readonly before: HeapShare;
  readonly after: HeapShare;
}

/** Those that have become larger, the largest growth first. */
export function heapGrowth(before: HeapShares, after: HeapShares): readonly Growth[] {
  const more = ({ before, after }: Growth): number => after.bytes - before.bytes;
  return [...after]
    .map(([name, share]) => ({ name, before: before.get(name) ?? { count: 0, bytes: 0 }, after: share }))
    .filter((growth) => more(growth) > 0)
    .sort((a, b) => more(b) - more(a));
}
