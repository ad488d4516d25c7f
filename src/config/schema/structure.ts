/** A schema and a value in, everything out that Kubernetes' structural validation finds wrong: types, bounds, required. */
import { isRecord } from "../../lib/index.ts";
import type { ArrayNode, IntOrStringNode, MapNode, ObjectNode, Schema, StringNode } from "../../model/index.ts";
import { fieldPath, itemPath } from "../problem.ts";
import type { Fields } from "./changed.ts";
import { type FieldIssue, issue } from "./field-issue.ts";
import { isLonger, matchesPattern, meets, type PatternBudget, patternBudget } from "./junctor.ts";

/** Pauses where others may be let in. */
export function* checkStructure(schema: Schema, value: unknown, path: string): Generator<void, readonly FieldIssue[]> {
  const patterns = patternBudget();
  const walk: Walk = { issues: [], path: [path], patterns, values: 0, patternsLeft: patterns.left };
  yield* check(schema, value, walk);
  return walk.issues;
}

interface Walk {
  readonly issues: FieldIssue[];
  /** The names and indexes down to where it is, for those few places of which something is said. */
  readonly path: (string | number)[];
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

function* check(schema: Schema, value: unknown, walk: Walk): Generator<void, void> {
  if (!isOfType(schema, value, walk)) return;
  if (schema.type === "array" && Array.isArray(value)) yield* checkArray(schema, value, walk);
  if (schema.type === "map" && isRecord(value)) yield* checkMap(schema, value, walk);
  if (schema.type === "object" && isRecord(value)) yield* checkObject(schema, value, walk);
  checkJunctors(schema, value, walk);
}

/** What has nothing inside is looked at without the cost of one that may pause. */
function checkScalar(schema: Schema, value: unknown, walk: Walk): void {
  if (!isOfType(schema, value, walk)) return;
  if (typeof value === "string") checkText(schema, value, walk);
  if (typeof value === "number") checkRange(schema, value, walk);
  checkJunctors(schema, value, walk);
}

function* checkPart(schema: Schema, value: unknown, part: string | number, walk: Walk): Generator<void, void> {
  walk.path.push(part);
  yield* check(schema, value, walk);
  walk.path.pop();
}

function checkScalarPart(schema: Schema, value: unknown, part: string | number, walk: Walk): void {
  walk.path.push(part);
  checkScalar(schema, value, walk);
  walk.path.pop();
}

const isScalar = (value: unknown): boolean => typeof value !== "object" || value === null;

function pathOf({ path: [first = "", ...rest] }: Walk): string {
  return rest.reduce<string>(
    (text, part) => (typeof part === "number" ? itemPath(text, part) : fieldPath(text, part)),
    String(first),
  );
}

/** False where nothing more is to be said of it. */
function isOfType(schema: Schema, value: unknown, walk: Walk): boolean {
  if (value === null && schema.nullable) return false;
  if (hasType(schema, value)) return true;
  const [found, path] = [typeName(value), pathOf(walk)];
  const message = `${path} in body must be of type ${schemaType(schema)}: "${found}"`;
  walk.issues.push(issue("FieldValueTypeInvalid", path, message, found));
  return false;
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

function checkText(schema: Schema, value: string, walk: Walk): void {
  if (schema.type !== "string" && schema.type !== "int-or-string") return;
  const wrong = textIssue(schema, value, walk);
  if (wrong) walk.issues.push(wrong);
  if (schema.type === "string" && schema.enum && !schema.enum.includes(value)) {
    const names = schema.enum.map((name) => JSON.stringify(name)).join(", ");
    walk.issues.push(issue("FieldValueNotSupported", pathOf(walk), `supported values: ${names}`, value));
  }
}

/** Only the first of these is told, as go-openapi has it. */
function textIssue(schema: StringNode | IntOrStringNode, value: string, walk: Walk): FieldIssue | undefined {
  const invalid = (text: string): FieldIssue =>
    issue("FieldValueInvalid", pathOf(walk), `${pathOf(walk)} in body ${text}`, value);
  if (schema.maxLength !== undefined && isLonger(value, schema.maxLength))
    return issue("FieldValueTooLong", pathOf(walk), `may not be more than ${schema.maxLength} bytes`);
  if (schema.minLength !== undefined && !isLonger(value, schema.minLength - 1))
    return invalid(`should be at least ${schema.minLength} chars long`);
  if (schema.pattern !== undefined && !matchesPattern(schema.pattern, value, walk.patterns))
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

function checkRange(schema: Schema, value: number, walk: Walk): void {
  if (schema.type !== "integer" && schema.type !== "number") return;
  const add = (text: string): unknown =>
    walk.issues.push(issue("FieldValueInvalid", pathOf(walk), `${pathOf(walk)} in body ${text}`, value));
  if (schema.minimum !== undefined && value < schema.minimum)
    add(`should be greater than or equal to ${schema.minimum}`);
  if (schema.maximum !== undefined && value > schema.maximum) add(`should be less than or equal to ${schema.maximum}`);
  if (schema.type === "integer" && schema.allowed && !schema.allowed.includes(value)) {
    const names = schema.allowed.map((number) => JSON.stringify(String(number))).join(", ");
    walk.issues.push(issue("FieldValueNotSupported", pathOf(walk), `supported values: ${names}`, value));
  }
  if (schema.format === "int32" && (value > 2147483647 || value < -2147483648))
    add(`must be of type int32: ${JSON.stringify(value)}`);
}

function* checkArray(schema: ArrayNode, value: readonly unknown[], walk: Walk): Generator<void, void> {
  checkSize(value.length, schema.minItems, schema.maxItems, "items", walk);
  if (schema.maxItems !== undefined && value.length > schema.maxItems) return;
  for (const [i, item] of value.entries()) {
    if (isPauseDue(walk)) yield;
    if (isScalar(item)) checkScalarPart(schema.items, item, i, walk);
    else yield* checkPart(schema.items, item, i, walk);
  }
}

function* checkMap(schema: MapNode, value: Fields, walk: Walk): Generator<void, void> {
  checkFieldCount(schema, value, walk);
  for (const key of Object.keys(value)) {
    if (isPauseDue(walk)) yield;
    if (isScalar(value[key])) checkScalarPart(schema.values, value[key], key, walk);
    else yield* checkPart(schema.values, value[key], key, walk);
  }
}

function* checkObject(schema: ObjectNode, value: Fields, walk: Walk): Generator<void, void> {
  const { issues } = walk;
  checkFieldCount(schema, value, walk);
  for (const name of schema.required ?? [])
    if (!Object.hasOwn(value, name)) issues.push(issue("FieldValueRequired", fieldPath(pathOf(walk), name), ""));
  for (const name in schema.fields) {
    const field = schema.fields[name];
    if (!field || !Object.hasOwn(value, name)) continue;
    if (isScalar(value[name])) checkScalarPart(field, value[name], name, walk);
    else yield* checkPart(field, value[name], name, walk);
  }
  for (const group of schema.oneOf ?? []) {
    const set = group.filter((name) => Object.hasOwn(value, name)).length;
    if (set > 1)
      issues.push(loose(walk, `must validate one and only one schema (oneOf). Found ${set} valid alternatives`));
  }
}

function checkFieldCount({ minProperties, maxProperties }: MapNode | ObjectNode, value: Fields, walk: Walk): void {
  if (minProperties === undefined && maxProperties === undefined) return;
  checkSize(Object.keys(value).length, minProperties, maxProperties, "properties", walk);
}

function checkSize(size: number, min: number | undefined, max: number | undefined, what: string, walk: Walk): void {
  if (min !== undefined && size < min) {
    const path = pathOf(walk);
    walk.issues.push(issue("FieldValueInvalid", path, `${path} in body should have at least ${min} ${what}`, size));
  }
  if (max !== undefined && size > max)
    walk.issues.push(issue("FieldValueTooMany", pathOf(walk), `must have at most ${max} items`, size));
}

function checkJunctors(schema: Schema, value: unknown, walk: Walk): void {
  const { issues, patterns } = walk;
  if (schema.allOf && !schema.allOf.every((one) => meets(one, value, patterns)))
    issues.push(loose(walk, "must validate all the schemas (allOf)"));
  if (schema.anyOf && !schema.anyOf.some((one) => meets(one, value, patterns)))
    issues.push(loose(walk, "must validate at least one schema (anyOf)"));
  if (schema.not && meets(schema.not, value, patterns)) issues.push(loose(walk, "must not validate the schema (not)"));
}

/** Kubernetes does not say the field of these in its usual place. */
const loose = (walk: Walk, text: string): FieldIssue =>
  issue("FieldValueInvalid", "<nil>", `"${pathOf(walk)}" ${text}`, "");
