/** A schema and a value in, everything out that Kubernetes' structural validation finds wrong: types, bounds, required. */
import { isRecord } from "../../lib/index.ts";
import type { ArrayNode, IntOrStringNode, MapNode, ObjectNode, Schema, StringNode } from "../../model/index.ts";
import { fieldPath, itemPath } from "../problem.ts";
import { type FieldIssue, issue } from "./field-issue.ts";
import { matchesPattern, meets, type PatternBudget, patternBudget } from "./junctor.ts";

/** Pauses where others may be let in. */
export function* checkStructure(schema: Schema, value: unknown, path: string): Generator<void, readonly FieldIssue[]> {
  const patterns = patternBudget();
  const walk: Walk = { issues: [], patterns, values: 0, patternsLeft: patterns.left };
  yield* check(schema, value, path, walk);
  return walk.issues;
}

interface Walk {
  readonly issues: FieldIssue[];
  readonly patterns: PatternBudget;
  /** Since the last pause, and what was left for patterns then. */
  values: number;
  patternsLeft: number;
}

/** Some milliseconds each. */
const valuesBetweenPauses = 2_000;
const patternWorkBetweenPauses = 300_000;

function isPauseDue(walk: Walk): boolean {
  walk.values++;
  const work = walk.patternsLeft - walk.patterns.left;
  if (walk.values < valuesBetweenPauses && work < patternWorkBetweenPauses) return false;
  walk.values = 0;
  walk.patternsLeft = walk.patterns.left;
  return true;
}

function* check(schema: Schema, value: unknown, path: string, walk: Walk): Generator<void, void> {
  const { issues } = walk;
  if (value === null && schema.nullable) return;
  if (!hasType(schema, value)) {
    const found = typeName(value);
    const message = `${path} in body must be of type ${schemaType(schema)}: "${found}"`;
    issues.push(issue("FieldValueTypeInvalid", path, message, found));
    return;
  }
  if (typeof value === "string") checkText(schema, value, path, walk);
  if (typeof value === "number") checkRange(schema, value, path, issues);
  if (schema.type === "array" && Array.isArray(value)) yield* checkArray(schema, value, path, walk);
  if (schema.type === "map" && isRecord(value)) yield* checkMap(schema, value, path, walk);
  if (schema.type === "object" && isRecord(value)) yield* checkObject(schema, value, path, walk);
  checkJunctors(schema, value, path, walk);
}

function schemaType(schema: Schema): string {
  if (schema.type === "map" || schema.type === "any") return "object";
  return schema.type === "int-or-string" ? "integer,string" : schema.type;
}

function typeName(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}

function hasType(schema: Schema, value: unknown): boolean {
  const found = typeName(value);
  switch (schema.type) {
    case "any":
      return !schema.object || found === "object";
    case "map":
      return found === "object";
    case "number":
      return found === "number" || found === "integer";
    case "int-or-string":
      return found === "integer" || found === "string";
    default:
      return found === schema.type;
  }
}

function checkText(schema: Schema, value: string, path: string, { issues, patterns }: Walk): void {
  if (schema.type !== "string" && schema.type !== "int-or-string") return;
  const wrong = textIssue(schema, value, path, patterns);
  if (wrong) issues.push(wrong);
  if (schema.type === "string" && schema.enum && !schema.enum.includes(value)) {
    const names = schema.enum.map((name) => JSON.stringify(name)).join(", ");
    issues.push(issue("FieldValueNotSupported", path, `supported values: ${names}`, value));
  }
}

/** Only the first of these is told, as go-openapi has it. */
function textIssue(
  schema: StringNode | IntOrStringNode,
  value: string,
  path: string,
  patterns: PatternBudget,
): FieldIssue | undefined {
  const length = [...value].length;
  const invalid = (text: string): FieldIssue => issue("FieldValueInvalid", path, `${path} in body ${text}`, value);
  if (schema.maxLength !== undefined && length > schema.maxLength)
    return issue("FieldValueTooLong", path, `may not be more than ${schema.maxLength} bytes`);
  if (schema.minLength !== undefined && length < schema.minLength)
    return invalid(`should be at least ${schema.minLength} chars long`);
  if (schema.pattern !== undefined && !matchesPattern(schema.pattern, value, patterns))
    return invalid(`should match '${schema.pattern}'`);
  const format = schema.type === "string" ? schema.format : undefined;
  return format === undefined || meetsFormat(format, value)
    ? undefined
    : invalid(`must be of type ${format}: ${JSON.stringify(value)}`);
}

function meetsFormat(format: string, value: string): boolean {
  if (format === "date-time")
    return /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d/.test(value) && !Number.isNaN(Date.parse(value));
  if (format === "byte") return /^[A-Za-z0-9+/]*={0,2}$/.test(value) && value.length % 4 === 0;
  return true;
}

function checkRange(schema: Schema, value: number, path: string, issues: FieldIssue[]): void {
  if (schema.type !== "integer" && schema.type !== "number") return;
  const add = (text: string): unknown =>
    issues.push(issue("FieldValueInvalid", path, `${path} in body ${text}`, value));
  if (schema.minimum !== undefined && value < schema.minimum)
    add(`should be greater than or equal to ${schema.minimum}`);
  if (schema.maximum !== undefined && value > schema.maximum) add(`should be less than or equal to ${schema.maximum}`);
  if (schema.type === "integer" && schema.allowed && !schema.allowed.includes(value)) {
    const names = schema.allowed.map((number) => JSON.stringify(String(number))).join(", ");
    issues.push(issue("FieldValueNotSupported", path, `supported values: ${names}`, value));
  }
  if (schema.format === "int32" && (value > 2147483647 || value < -2147483648))
    add(`must be of type int32: ${JSON.stringify(value)}`);
}

function* checkArray(schema: ArrayNode, value: readonly unknown[], path: string, walk: Walk): Generator<void, void> {
  checkSize(value.length, schema.minItems, schema.maxItems, "items", path, walk.issues);
  if (schema.maxItems !== undefined && value.length > schema.maxItems) return;
  for (const [i, item] of value.entries()) {
    if (isPauseDue(walk)) yield;
    yield* check(schema.items, item, itemPath(path, i), walk);
  }
}

function* checkMap(
  schema: MapNode,
  value: Readonly<Record<string, unknown>>,
  path: string,
  walk: Walk,
): Generator<void, void> {
  checkSize(Object.keys(value).length, schema.minProperties, schema.maxProperties, "properties", path, walk.issues);
  for (const [key, item] of Object.entries(value)) {
    if (isPauseDue(walk)) yield;
    yield* check(schema.values, item, fieldPath(path, key), walk);
  }
}

function* checkObject(
  schema: ObjectNode,
  value: Readonly<Record<string, unknown>>,
  path: string,
  walk: Walk,
): Generator<void, void> {
  const { issues } = walk;
  checkSize(Object.keys(value).length, schema.minProperties, schema.maxProperties, "properties", path, issues);
  for (const name of schema.required ?? [])
    if (!Object.hasOwn(value, name)) issues.push(issue("FieldValueRequired", fieldPath(path, name), ""));
  for (const [name, field] of Object.entries(schema.fields))
    if (Object.hasOwn(value, name)) yield* check(field, value[name], fieldPath(path, name), walk);
  const groups = schema.oneOf ?? [];
  for (const group of groups) {
    const set = group.filter((name) => Object.hasOwn(value, name)).length;
    if (set > 1)
      issues.push(loose(path, `must validate one and only one schema (oneOf). Found ${set} valid alternatives`));
  }
}

function checkSize(
  size: number,
  min: number | undefined,
  max: number | undefined,
  what: string,
  path: string,
  issues: FieldIssue[],
): void {
  if (min !== undefined && size < min)
    issues.push(issue("FieldValueInvalid", path, `${path} in body should have at least ${min} ${what}`, size));
  if (max !== undefined && size > max)
    issues.push(issue("FieldValueTooMany", path, `must have at most ${max} items`, size));
}

function checkJunctors(schema: Schema, value: unknown, path: string, { issues, patterns }: Walk): void {
  if (schema.allOf && !schema.allOf.every((one) => meets(one, value, patterns)))
    issues.push(loose(path, "must validate all the schemas (allOf)"));
  if (schema.anyOf && !schema.anyOf.some((one) => meets(one, value, patterns)))
    issues.push(loose(path, "must validate at least one schema (anyOf)"));
  if (schema.not && meets(schema.not, value, patterns)) issues.push(loose(path, "must not validate the schema (not)"));
}

/** Kubernetes does not say the field of these in its usual place. */
const loose = (path: string, text: string): FieldIssue => issue("FieldValueInvalid", "<nil>", `"${path}" ${text}`, "");
