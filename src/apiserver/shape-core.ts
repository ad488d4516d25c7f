/**
 * An object of one of Kubernetes' own kinds in; the same without unknown fields and nulls out, with the list of what was
 * dropped, what has the wrong type (which Kubernetes cannot even decode) and which required fields are missing.
 */
import { isRecord } from "../lib/index.ts";
import { setField, textsAt } from "./access.ts";
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
  /** The names and indexes down to where it is, for those few places of which something is said. */
  readonly path: (string | number)[];
  readonly unknown: string[];
  readonly mismatches: string[];
  readonly missing: FieldError[];
}

/** Of a thousand mistakes of one kind nobody reads more. */
const maxSentences = 50;

export function shapeCore(definitions: Definitions, schema: JsonSchema, value: unknown, path?: string): CoreShape {
  const walk: Walk = {
    definitions,
    path: path === undefined ? [] : [path],
    unknown: [],
    mismatches: [],
    missing: [],
  };
  const out = visit(walk, schema, value);
  return { value: out, unknown: walk.unknown, mismatches: walk.mismatches, missing: walk.missing };
}

function pathOf({ path }: Walk, last?: string): string {
  const parts = last === undefined ? path : [...path, last];
  return parts.reduce<string>((text, part) => {
    if (typeof part === "number") return `${text}[${part}]`;
    return text === "" ? part : `${text}.${part}`;
  }, "");
}

function visit(walk: Walk, schema: unknown, value: unknown): unknown {
  const known = walk.definitions.resolve(schema);
  if (known["x-kubernetes-preserve-unknown-fields"] === true && known.properties === undefined) return value;
  if (known["x-kubernetes-int-or-string"] === true || known["x-quantity"] === true)
    return scalar(walk, typeof value === "string" || typeof value === "number", "int or string", value);
  switch (known.type) {
    case "object":
      return visitObject(walk, known, value);
    case "array":
      return visitArray(walk, known, value);
    case "string":
      return visitString(walk, known, value);
    case "integer":
      return scalar(
        walk,
        Number.isInteger(value) && inRange(known, value as number),
        String(known.format ?? "integer"),
        value,
      );
    case "number":
      return scalar(walk, typeof value === "number", "number", value);
    case "boolean":
      return scalar(walk, typeof value === "boolean", "bool", value);
    default:
      return value;
  }
}

function inRange(schema: JsonSchema, value: number): boolean {
  return schema.format === "int64" ? Number.isSafeInteger(value) : Math.abs(value) <= 2 ** 31;
}

function visitString(walk: Walk, schema: JsonSchema, value: unknown): unknown {
  if (schema.format === "byte" && typeof value === "string") return scalar(walk, isBase64(value), "base64 data", value);
  if (schema.format === "date-time" && typeof value === "string")
    return scalar(walk, value === "" || !Number.isNaN(Date.parse(value)), "RFC 3339 time", value);
  return scalar(walk, typeof value === "string", "string", value);
}

/** Ends of lines first: a pattern that allows them anywhere would look at a long text once for each of them. */
function isBase64(text: string): boolean {
  return /^[A-Za-z0-9+/]*={0,2}$/.test(text.replaceAll(/[\r\n]/g, ""));
}

function visitArray(walk: Walk, schema: JsonSchema, value: unknown): unknown {
  if (!Array.isArray(value)) return scalar(walk, false, "array", value);
  let out: unknown[] | undefined;
  for (const [i, item] of value.entries()) {
    walk.path.push(i);
    const shaped = visit(walk, schema.items, item);
    walk.path.pop();
    if (shaped === item) continue;
    out ??= [...value];
    out[i] = shaped;
  }
  return out ?? value;
}

/** The value itself where nothing is to be dropped: what is shared need not be looked at again when it is compared. */
function visitObject(walk: Walk, schema: JsonSchema, value: unknown): unknown {
  if (!isRecord(value)) return scalar(walk, false, "object", value);
  const properties = isRecord(schema.properties) ? schema.properties : undefined;
  const rest = schema.additionalProperties;
  let out: Record<string, unknown> | undefined;
  const own = (): Record<string, unknown> => {
    out ??= { ...value };
    return out;
  };
  for (const name of Object.keys(value)) {
    const inner = value[name];
    const next = properties && Object.hasOwn(properties, name) ? properties[name] : rest;
    if (next === undefined) {
      if (walk.unknown.length < maxSentences) walk.unknown.push(pathOf(walk, name));
      delete own()[name];
    } else if (inner === null) delete own()[name];
    else {
      walk.path.push(name);
      const shaped = visit(walk, next, inner);
      walk.path.pop();
      if (shaped !== inner) setField(own(), name, shaped);
    }
  }
  if (walk.path[0] !== "status" && walk.path[0] !== "metadata") missingFields(walk, schema, value);
  return out ?? value;
}

function missingFields(walk: Walk, schema: JsonSchema, value: Readonly<Record<string, unknown>>): void {
  for (const name of textsAt(schema, "required")) {
    if (lenient.has(name) || (value[name] !== undefined && value[name] !== null)) continue;
    if (walk.missing.length < maxSentences)
      walk.missing.push({ path: pathOf(walk, name), reason: "FieldValueRequired", message: "Required value" });
  }
}

function scalar(walk: Walk, good: boolean, wanted: string, value: unknown): unknown {
  if (!good && walk.mismatches.length < maxSentences) {
    const found = Array.isArray(value) ? "array" : isRecord(value) ? "object" : value === null ? "null" : typeof value;
    walk.mismatches.push(
      `cannot unmarshal ${found === "boolean" ? "bool" : found} into field ${pathOf(walk)} of type ${wanted}`,
    );
  }
  return value;
}
