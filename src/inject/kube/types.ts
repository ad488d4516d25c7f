/**
 * Kubernetes' generated schemas in; the types of workloads out, as Kubernetes' own tools treat them: fields in the order
 * of their declaration, which of them are printed when empty, and by which key a list is merged.
 */
import { kubeSchemas } from "../../gen/kube-schemas.js";
import { isRecord, readRecord, readText, readTexts } from "../../lib/index.ts";
import { nulls, pointers, printed, structs } from "./printed.ts";

export type ScalarType = "string" | "integer" | "number" | "boolean" | "quantity" | "int-or-string" | "time" | "any";

export type ValueType =
  | { readonly kind: "scalar"; readonly scalar: ScalarType }
  | { readonly kind: "list"; readonly items: ValueType; readonly mergeKey?: string | undefined }
  | { readonly kind: "map"; readonly values: ValueType }
  | { readonly kind: "object"; readonly type: () => ObjectType };

/**
 * How a field without content is printed: `plain` not at all, nor with a zero; `pointer` not at all, but a zero that was
 * written stays; `null` as null; `printed` with its zero, or null for a list or object; `struct` as the empty object.
 */
export type Keep = "plain" | "pointer" | "null" | "printed" | "struct";

export interface Field {
  readonly value: ValueType;
  readonly keep: Keep;
  /** Declared in a type that this one embeds. */
  readonly embedded?: boolean;
}

export interface ObjectType {
  readonly name: string;
  readonly fields: ReadonlyMap<string, Field>;
}

type Schema = Readonly<Record<string, unknown>>;

let parsed: ReadonlyMap<string, Schema> | undefined;
const made = new Map<string, ObjectType>();

/** Written by our own build, so it needs no guard. */
function definitions(): ReadonlyMap<string, Schema> {
  parsed ??= new Map(Object.entries(JSON.parse(kubeSchemas) as Record<string, Schema>));
  return parsed;
}

/** A type by its full name, such as `io.k8s.api.core.v1.Pod`. */
export function kubeType(name: string): ObjectType {
  const known = made.get(name);
  if (known) return known;
  const schema = definitions().get(name) ?? {};
  const type = { name, fields: fieldsOf(shortName(name), schema) };
  made.set(name, type);
  return type;
}

const shortName = (name: string): string => name.slice(name.lastIndexOf(".") + 1);

function keepOf(type: string, field: string, required: boolean): Keep {
  const among = (table: ReadonlyMap<string, ReadonlySet<string>>): boolean => table.get(type)?.has(field) ?? false;
  if (among(structs)) return "struct";
  if (among(nulls)) return "null";
  if (required || among(printed)) return "printed";
  return among(pointers) ? "pointer" : "plain";
}

function fieldsOf(type: string, schema: Schema): ReadonlyMap<string, Field> {
  const properties = readRecord(schema.properties);
  const required = new Set(readTexts(schema.required));
  // The numbers of the binary form are listed in the order of the declaration.
  const numbers = readText(schema["x-numbers"]);
  const declared = namesIn(numbers);
  const embedded = new Set(namesIn([...numbers.matchAll(/\+\d+\(([^)]*)\)/g)].map(([, inner]) => inner).join(" ")));
  const names = new Set([...declared.filter((name) => Object.hasOwn(properties, name)), ...Object.keys(properties)]);
  return new Map(
    [...names].map((name) => [
      name,
      {
        value: valueOf(readRecord(properties[name])),
        keep: keepOf(type, name, required.has(name)),
        embedded: embedded.has(name),
      },
    ]),
  );
}

const namesIn = (numbers: string): readonly string[] =>
  [...numbers.matchAll(/([A-Za-z0-9]+):\d+/g)].map(([, name = ""]) => name);

function valueOf(schema: Schema): ValueType {
  if (typeof schema.$ref === "string") {
    const name = schema.$ref;
    return { kind: "object", type: () => kubeType(name) };
  }
  if (schema["x-quantity"] === true) return { kind: "scalar", scalar: "quantity" };
  if (schema["x-kubernetes-int-or-string"] === true) return { kind: "scalar", scalar: "int-or-string" };
  if (schema.type === "array") {
    const mergeKey = schema["x-kubernetes-patch-merge-key"];
    return {
      kind: "list",
      items: valueOf(readRecord(schema.items)),
      mergeKey: typeof mergeKey === "string" ? mergeKey : undefined,
    };
  }
  if (isRecord(schema.additionalProperties)) return { kind: "map", values: valueOf(schema.additionalProperties) };
  if (schema.format === "date-time") return { kind: "scalar", scalar: "time" };
  return { kind: "scalar", scalar: scalars.get(readText(schema.type)) ?? "any" };
}

const scalars: ReadonlyMap<string, ScalarType> = new Map([
  ["string", "string"],
  ["integer", "integer"],
  ["number", "number"],
  ["boolean", "boolean"],
]);
