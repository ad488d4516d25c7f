/**
 * An object as a person wrote it and its type in; the object as Kubernetes' own tools would print it out: fields in the
 * order of their declaration, none that the type does not know, scalars in their canonical form, nothing empty.
 */
import { compareText, FairleadError, isRecord } from "../../lib/index.ts";
import { canonicalQuantity } from "../../model/index.ts";
import type { Keep, ObjectType, ScalarType, ValueType } from "./types.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Below an embedded type Kubernetes' reader of YAML does not know where text belongs: there a number is refused. */
export function typedObject(type: ObjectType, value: unknown, path = "", strict = false): Fields {
  if (!isRecord(value)) throw mismatch(path, "an object", value);
  const out: [string, unknown][] = [];
  for (const [name, { value: inner, keep, embedded = false }] of type.fields) {
    const given = Object.hasOwn(value, name) ? value[name] : undefined;
    const here = path === "" ? name : `${path}.${name}`;
    const shown =
      given === undefined || given === null
        ? emptyValue(inner, keep, here)
        : kept(inner, typedValue(inner, given, here, strict || embedded), keep);
    if (shown !== undefined) out.push([name, shown]);
  }
  return Object.fromEntries(out);
}

export function typedValue(type: ValueType, value: unknown, path: string, strict = false): unknown {
  switch (type.kind) {
    case "object":
      return typedObject(type.type(), value, path, strict);
    case "list":
      if (!Array.isArray(value)) throw mismatch(path, "a list", value);
      return value.map((item, i) =>
        item === null ? zero(type.items) : typedValue(type.items, item, `${path}[${i}]`, strict),
      );
    case "map":
      if (!isRecord(value)) throw mismatch(path, "a map", value);
      return Object.fromEntries(
        Object.entries(value)
          .sort(([a], [b]) => compareText(a, b))
          .map(([key, item]) => [
            key,
            item === null ? zero(type.values) : typedValue(type.values, item, `${path}.${key}`, strict),
          ]),
      );
    case "scalar":
      return typedScalar(type.scalar, value, path, strict);
  }
}

/** As YAML is read into Kubernetes' types: where text belongs, a number or a boolean counts as its text. */
function typedScalar(scalar: ScalarType, value: unknown, path: string, strict: boolean): unknown {
  const isNumber = typeof value === "number";
  switch (scalar) {
    case "string":
      if (!strict && (isNumber || typeof value === "boolean")) return String(value);
      if (typeof value !== "string") throw mismatch(path, "a text", value);
      return value;
    case "integer":
      if (!Number.isSafeInteger(value)) throw mismatch(path, "a whole number", value);
      return value;
    case "number":
      if (!isNumber) throw mismatch(path, "a number", value);
      return value;
    case "boolean":
      if (typeof value !== "boolean") throw mismatch(path, "true or false", value);
      return value;
    case "int-or-string":
      if (!isNumber && typeof value !== "string") throw mismatch(path, "a number or a text", value);
      return value;
    case "quantity": {
      const canonical = isNumber || typeof value === "string" ? canonicalQuantity(String(value).trim()) : undefined;
      if (canonical === undefined) throw mismatch(path, "a quantity such as 100m or 1Gi", value);
      return canonical;
    }
    default:
      return value;
  }
}

/** What was written and says nothing is left out, except where it must be told from what was not written. */
function kept(type: ValueType, value: unknown, keep: Keep): unknown {
  if (keep !== "plain") return value;
  if (type.kind === "list" || type.kind === "map") return Object.keys(Object(value)).length === 0 ? undefined : value;
  return value === "" || value === 0 || value === false ? undefined : value;
}

function emptyValue(type: ValueType, keep: Keep, path: string): unknown {
  if (keep === "struct") return type.kind === "object" ? typedObject(type.type(), {}, path) : zero(type);
  if (keep === "null") return null;
  if (keep !== "printed") return undefined;
  return type.kind === "scalar" ? zero(type) : null;
}

function zero(type: ValueType): unknown {
  if (type.kind === "object") return typedObject(type.type(), {});
  if (type.kind !== "scalar") return null;
  const zeros: Readonly<Record<ScalarType, unknown>> = {
    string: "",
    integer: 0,
    number: 0,
    boolean: false,
    quantity: "0",
    "int-or-string": 0,
    time: null,
    any: null,
  };
  return zeros[type.scalar];
}

function mismatch(path: string, wanted: string, value: unknown): FairleadError {
  const found = Array.isArray(value) ? "a list" : isRecord(value) ? "an object" : JSON.stringify(value);
  return new FairleadError("invalid", `${path === "" ? "the object" : path}: ${wanted} is needed, found ${found}`, {
    hint: "kubectl explain shows the shape of the field",
  });
}
