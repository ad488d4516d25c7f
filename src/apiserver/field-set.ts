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
  const names = new Set([...a.children.keys(), ...b.children.keys()]);
  return fieldSet(
    a.own || b.own,
    [...names].map((name) => [name, union(a.children.get(name) ?? emptySet, b.children.get(name) ?? emptySet)]),
  );
}

export function difference(a: FieldSet, b: FieldSet): FieldSet {
  return fieldSet(
    a.own && !b.own,
    [...a.children].map(([name, child]) => [name, difference(child, b.children.get(name) ?? emptySet)]),
  );
}

export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  return fieldSet(
    a.own && b.own,
    [...a.children].map(([name, child]) => [name, intersection(child, b.children.get(name) ?? emptySet)]),
  );
}

export function parseFieldSet(json: unknown): FieldSet {
  if (!isRecord(json)) return emptySet;
  const entries = Object.entries(json);
  const children = entries
    .filter(([name]) => name !== ".")
    .map(([name, inner]) => [name, parseFieldSet(inner)] as const);
  return { own: entries.length === 0 || "." in json, children: new Map(children) };
}

export function formatFieldSet(set: FieldSet): Readonly<Record<string, unknown>> {
  const children = [...set.children]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, child]) => [name, formatFieldSet(child)]);
  const self = set.own && set.children.size > 0 ? [[".", {}]] : [];
  return Object.fromEntries([...self, ...children]);
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
