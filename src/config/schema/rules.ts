/** A schema, a value and, on an update, the value before in; every CEL rule that does not hold out. */
import { isRecord } from "../../lib/index.ts";
import type { Rule, Schema } from "../../model/index.ts";
import { fieldPath, itemPath } from "../problem.ts";
import type { CelRules } from "./cel.ts";
import { type CelValues, createCelValues } from "./cel-value.ts";
import { type FieldIssue, type FieldReason, issue } from "./field-issue.ts";
import { keyOf } from "./list-type.ts";

/** Pauses after each rule, where others may be let in. */
export function* checkRules(
  cel: CelRules,
  schema: Schema,
  value: unknown,
  old: unknown,
  path: string,
): Generator<void, readonly FieldIssue[]> {
  const issues: FieldIssue[] = [];
  yield* check({ cel, values: createCelValues(), issues }, schema, value, old, path);
  return issues;
}

interface Walk {
  readonly cel: CelRules;
  readonly values: CelValues;
  readonly issues: FieldIssue[];
}

function* check(walk: Walk, schema: Schema, value: unknown, old: unknown, path: string): Generator<void, void> {
  const { cel, issues } = walk;
  if (value === null || value === undefined || !hasRules(schema)) return;
  for (const rule of schema.rules ?? []) {
    if (cel.isSpent()) return;
    issues.push(...checkRule(walk, schema, rule, value, old, path));
    yield;
  }
  yield* checkInside(walk, schema, value, old, path);
}

function* checkInside(walk: Walk, schema: Schema, value: unknown, old: unknown, path: string): Generator<void, void> {
  if (schema.type === "array" && Array.isArray(value)) {
    if (!hasRules(schema.items)) return;
    const before = oldItems(schema, old);
    for (const [i, item] of value.entries())
      yield* check(walk, schema.items, item, before.get(JSON.stringify(keyOf(schema, item))), itemPath(path, i));
    return;
  }
  if (!isRecord(value)) return;
  const before = isRecord(old) ? old : {};
  if (schema.type === "map")
    for (const [key, item] of hasRules(schema.values) ? Object.entries(value) : [])
      yield* check(walk, schema.values, item, before[key], itemPath(path, key));
  if (schema.type !== "object") return;
  for (const [name, field] of Object.entries(schema.fields))
    if (Object.hasOwn(value, name)) yield* check(walk, field, value[name], before[name], fieldPath(path, name));
}

/** Only lists with keys have an "entry before"; in others no entry can be told to be the same one. */
function oldItems(schema: Schema & { type: "array" }, old: unknown): ReadonlyMap<string, unknown> {
  if (schema.listType !== "map" || !Array.isArray(old)) return new Map();
  return new Map(old.map((item) => [JSON.stringify(keyOf(schema, item)), item]));
}

const withRules = new WeakMap<Schema, boolean>();

/** Most of an object has no rule below it; those parts are not walked. */
function hasRules(schema: Schema): boolean {
  const known = withRules.get(schema);
  if (known !== undefined) return known;
  const inside =
    schema.type === "array"
      ? [schema.items]
      : schema.type === "map"
        ? [schema.values]
        : schema.type === "object"
          ? Object.values(schema.fields)
          : [];
  const found = (schema.rules?.length ?? 0) > 0 || inside.some(hasRules);
  withRules.set(schema, found);
  return found;
}

function checkRule(
  { cel, values }: Walk,
  schema: Schema,
  rule: Rule,
  value: unknown,
  old: unknown,
  path: string,
): readonly FieldIssue[] {
  const transition = /\boldSelf\b/.test(rule.rule);
  if (transition && old === undefined && !rule.optionalOldSelf) return [];
  const bindings = { self: values.of(schema, value), ...(transition ? { oldSelf: values.of(schema, old) } : {}) };
  const verdict = cel.evaluate(rule.rule, bindings);
  const text = rule.message ?? `failed rule: ${rule.rule}`;
  if ("error" in verdict)
    return [issue("FieldValueInvalid", path, `${verdict.error} evaluating rule: ${text}`, typeWord(value))];
  if (verdict.value === true) return [];
  const reason: FieldReason = rule.reason ?? "FieldValueInvalid";
  const at = rule.fieldPath ? `${path}${rule.fieldPath}` : path;
  return [issue(reason, at, text, typeof value === "object" ? undefined : value)];
}

function typeWord(value: unknown): string {
  if (Array.isArray(value)) return "array";
  return typeof value === "number" ? (Number.isInteger(value) ? "integer" : "number") : typeof value;
}
