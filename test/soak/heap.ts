/** A heap snapshot's file in; how many objects of each constructor it has out. */
import { readFileSync } from "node:fs";

export type HeapCounts = ReadonlyMap<string, number>;

interface Snapshot {
  readonly snapshot: {
    readonly meta: { readonly node_fields: readonly string[]; readonly node_types: readonly unknown[] };
  };
  readonly nodes: readonly number[];
  readonly strings: readonly string[];
}

/** Objects by constructor; closures, code and the parts of strings by what they are. */
export function readHeapCounts(file: string): HeapCounts {
  const { snapshot, nodes, strings }: Snapshot = JSON.parse(readFileSync(file, "utf8"));
  const { node_fields: fields, node_types: types } = snapshot.meta;
  const typeNames = Array.isArray(types[0]) ? types[0].map(String) : [];
  const [type, name] = [fields.indexOf("type"), fields.indexOf("name")];
  const counts = new Map<string, number>();
  for (let at = 0; at < nodes.length; at += fields.length) {
    const kind = typeNames[nodes[at + type] ?? 0] ?? "";
    const key = kind === "object" ? (strings[nodes[at + name] ?? 0] ?? "") : `(${kind})`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

export interface Growth {
  readonly name: string;
  readonly before: number;
  readonly after: number;
}

/** Those of which there are more, the most first. */
export function heapGrowth(before: HeapCounts, after: HeapCounts): readonly Growth[] {
  return [...after]
    .map(([name, count]) => ({ name, before: before.get(name) ?? 0, after: count }))
    .filter((growth) => growth.after > growth.before)
    .sort((a, b) => b.after - b.before - (a.after - a.before));
}
