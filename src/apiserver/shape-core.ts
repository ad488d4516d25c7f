/**
 * An object of one of Kubernetes' own kinds in; the same without unknown fields and nulls out, with the list of what was
 * dropped, what has the wrong type (which Kubernetes cannot even decode) and which required fields are missing.
 */
import { isRecord } from "../lib/index.ts";
import { textsAt } from "./access.ts";
import type { Definitions } from "./definitions.ts";
import type { FieldError } from "./failure.ts";
import type { JsonSchema } from "./kind.ts";

export interface CoreShape {
  readonly value: unknown;
  readonly unknown: readonly string[];
  /** Sentences about values that cannot be decoded. */
  readonly mismatches: readonly string[];
  readonly missing: readonly FieldError[];
}

/** Required in the published schemas, yet filled in or not asked for by Kubernetes. */
const lenient: ReadonlySet<string> = new Set(["endpoints", "apiGroup", "audiences", "conditions", "subjects", "rules"]);

interface Walk {
  readonly definitions: Definitions;
  readonly unknown: string[];
  readonly mismatches: string[];
  readonly missing: FieldError[];
}

export function shapeCore(definitions: Definitions, schema: JsonSchema, value: unknown, path = ""): CoreShape {
  const walk: Walk = { definitions, unknown: [], mismatches: [], missing: [] };
  const out = visit(walk, schema, value, path);
  return { value: out, unknown: walk.unknown, mismatches: walk.mismatches, missing: walk.missing };
}

function visit(walk: Walk, schema: unknown, value: unknown, path: string): unknown {
  const known = walk.definitions.resolve(schema);
  if (known["x-kubernetes-preserve-unknown-fields"] === true && known.properties === undefined) return value;
  if (known["x-kubernetes-int-or-string"] === true || known["x-quantity"] === true)
    return scalar(walk, typeof value === "string" || typeof value === "number", "int or string", value, path);
  switch (known.type) {
    case "object":
      return visitObject(walk, known, value, path);
    case "array":
      if (!Array.isArray(value)) return scalar(walk, false, "array", value, path);
      return value.map((item, i) => visit(walk, known.items, item, `${path}[${i}]`));
    case "string":
      return visitString(walk, known, value, path);
    case "integer":
      return scalar(
        walk,
        Number.isInteger(value) && inRange(known, value as number),
        String(known.format ?? "integer"),
        value,
        path,
      );
    case "number":
      return scalar(walk, typeof value === "number", "number", value, path);
    case "boolean":
      return scalar(walk, typeof value === "boolean", "bool", value, path);
    default:
      return value;
  }
}

function inRange(schema: JsonSchema, value: number): boolean {
  return schema.format === "int64" ? Number.isSafeInteger(value) : Math.abs(value) <= 2 ** 31;
}

function visitString(walk: Walk, schema: JsonSchema, value: unknown, path: string): unknown {
  if (schema.format === "byte" && typeof value === "string")
    return scalar(walk, /^[A-Za-z0-9+/\s]*={0,2}\s*$/.test(value), "base64 data", value, path);
  if (schema.format === "date-time" && typeof value === "string")
    return scalar(walk, value === "" || !Number.isNaN(Date.parse(value)), "RFC 3339 time", value, path);
  return scalar(walk, typeof value === "string", "string", value, path);
}

function visitObject(walk: Walk, schema: JsonSchema, value: unknown, path: string): unknown {
  if (!isRecord(value)) return scalar(walk, false, "object", value, path);
  const properties = isRecord(schema.properties) ? schema.properties : undefined;
  const rest = schema.additionalProperties;
  // Written by name, never merged: `__proto__` in a request stays an ordinary (unknown) field.
  const out: [string, unknown][] = [];
  for (const [name, inner] of Object.entries(value)) {
    const here = path === "" ? name : `${path}.${name}`;
    const next = properties && Object.hasOwn(properties, name) ? properties[name] : rest;
    if (next === undefined) walk.unknown.push(here);
    else if (inner !== null) out.push([name, visit(walk, next, inner, here)]);
  }
  if (!path.startsWith("status") && !path.startsWith("metadata")) missingFields(walk, schema, value, path);
  return Object.fromEntries(out);
}

function missingFields(walk: Walk, schema: JsonSchema, value: Readonly<Record<string, unknown>>, path: string): void {
  for (const name of textsAt(schema, "required")) {
    if (lenient.has(name) || (value[name] !== undefined && value[name] !== null)) continue;
    walk.missing.push({
      path: path === "" ? name : `${path}.${name}`,
      reason: "FieldValueRequired",
      message: "Required value",
    });
  }
}

function scalar(walk: Walk, good: boolean, wanted: string, value: unknown, path: string): unknown {
  if (!good) {
    const found = Array.isArray(value) ? "array" : isRecord(value) ? "object" : value === null ? "null" : typeof value;
    walk.mismatches.push(
      `cannot unmarshal ${found === "boolean" ? "bool" : found} into field ${path} of type ${wanted}`,
    );
  }
  return value;
}
