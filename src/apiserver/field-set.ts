/** Sets of fields as managedFields writes them (`fieldsV1`), with the operations that ownership needs. Pure. */
import { isRecord } from "../lib/index.ts";

export interface FieldSet {
  /** The field itself is in the set, not only something inside it. */
  readonly own: boolean;
  /** By path element: `f:name`, `k:{"name":"x"}`, `v:"x"`. */
  readonly children: ReadonlyMap<string, FieldSet>;
}

export const emptySet: FieldSet = { own: false, children: new Map() };
export const leaf: FieldSet = { own: true, children: new Map() };

export function isEmpty(set: FieldSet): boolean {
  return !set.own && set.children.size === 0;
}

export function fieldSet(own: boolean, children: Iterable<readonly [string, FieldSet]>): FieldSet {
  return { own, children: new Map([...children].filter(([, child]) => !isEmpty(child))) };
}

export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmpty(a)) return b;
  if (isEmpty(b)) return a;
  const children = new Map(a.children);
  for (const [name, child] of b.children) children.set(name, union(a.children.get(name) ?? emptySet, child));
  return { own: a.own || b.own, children };
}

/** What of `a` is not touched is shared with it. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmpty(a) || isEmpty(b)) return a;
  const children = new Map<string, FieldSet>();
  for (const [name, child] of a.children) {
    const other = b.children.get(name);
    const rest = other === undefined ? child : difference(child, other);
    if (!isEmpty(rest)) children.set(name, rest);
  }
  return { own: a.own && !b.own, children };
}

export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmpty(a) || isEmpty(b)) return emptySet;
  const children = new Map<string, FieldSet>();
  for (const [name, child] of a.children) {
    const other = b.children.get(name);
    const both = other === undefined ? emptySet : intersection(child, other);
    if (!isEmpty(both)) children.set(name, both);
  }
  return { own: a.own && b.own, children };
}

/** Fields between two pauses, where others may be let in: some objects have tens of thousands in one place. */
const fieldsBetweenPauses = 8_000;

interface Walk {
  /** Since the last pause. */
  fields: number;
}

function isPauseDue(walk: Walk): boolean {
  walk.fields++;
  if (walk.fields < fieldsBetweenPauses) return false;
  walk.fields = 0;
  return true;
}

export function* parseFieldSet(json: unknown, walk: Walk = { fields: 0 }): Generator<void, FieldSet> {
  if (!isRecord(json)) return emptySet;
  const names = Object.keys(json);
  if (names.length === 0) return leaf;
  const children = new Map<string, FieldSet>();
  for (const name of names) {
    if (name === ".") continue;
    if (isPauseDue(walk)) yield;
    const inner = json[name];
    children.set(name, isEmptyRecord(inner) ? leaf : yield* parseFieldSet(inner, walk));
  }
  return { own: Object.hasOwn(json, "."), children };
}

function isEmptyRecord(value: unknown): boolean {
  if (!isRecord(value)) return false;
  for (const _ in value) return false;
  return true;
}

/** What nearly all fields are written as: one for all. */
const written: Readonly<Record<string, unknown>> = Object.freeze({});

export function* formatFieldSet(
  set: FieldSet,
  walk: Walk = { fields: 0 },
): Generator<void, Readonly<Record<string, unknown>>> {
  if (set.children.size === 0) return written;
  const out: Record<string, unknown> = set.own ? { ".": written } : {};
  for (const name of [...set.children.keys()].sort()) {
    if (isPauseDue(walk)) yield;
    const child = set.children.get(name) ?? emptySet;
    out[name] = child.children.size === 0 ? written : yield* formatFieldSet(child, walk);
  }
  return out;
}

/** Fields at all levels. */
export function countFields(set: FieldSet): number {
  let count = 0;
  for (const child of set.children.values()) count += 1 + countFields(child);
  return count;
}

/** Each field of the set as people write it: `.spec.ports[port=80,protocol="TCP"].name`. */
export function fieldPaths(set: FieldSet, prefix = ""): readonly string[] {
  const inner = [...set.children].flatMap(([name, child]) => fieldPaths(child, `${prefix}${element(name)}`));
  return set.own && prefix !== "" ? [prefix, ...inner] : inner;
}

function element(name: string): string {
  const rest = name.slice(2);
  if (name.startsWith("f:")) return `.${rest}`;
  if (name.startsWith("v:")) return `[=${rest}]`;
  return `[${Object.entries(JSON.parse(rest) as object)
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join(",")}]`;
}
