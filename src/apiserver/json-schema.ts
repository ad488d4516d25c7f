/** The OpenAPI schema of a CustomResourceDefinition in, the same in the nodes of our own schemas out. */
import { isRecord } from "../lib/index.ts";
import type { Junctor, Rule, Schema } from "../model/index.ts";
import { type Fields, recordAt, textsAt } from "./access.ts";

/** `except` names fields of the top level that are looked after elsewhere. */
export function schemaOfJson(json: unknown, except: ReadonlySet<string> = new Set()): Schema {
  const fields: Fields = isRecord(json) ? json : {};
  return { ...node(fields, except), ...common(fields) } as Schema;
}

function node(json: Fields, except: ReadonlySet<string>): Schema {
  if (json["x-kubernetes-int-or-string"] === true)
    return { type: "int-or-string", ...pick(json, "pattern", "minLength", "maxLength") };
  switch (json.type) {
    case "object":
      return objectNode(json, except);
    case "array":
      return {
        type: "array",
        items: schemaOfJson(json.items),
        ...pick(json, "minItems", "maxItems"),
        ...renamed(json, "x-kubernetes-list-type", "listType"),
        ...renamed(json, "x-kubernetes-list-map-keys", "listMapKeys"),
      };
    case "string":
      return { type: "string", ...pick(json, "format", "enum", "pattern", "minLength", "maxLength") };
    case "integer":
      return { type: "integer", ...pick(json, "format", "minimum", "maximum"), ...renamed(json, "enum", "allowed") };
    case "number":
      return { type: "number", ...pick(json, "format", "minimum", "maximum") };
    case "boolean":
      return { type: "boolean" };
    default:
      return { type: "any", object: false };
  }
}

function objectNode(json: Fields, except: ReadonlySet<string>): Schema {
  const properties = Object.entries(recordAt(json, "properties")).filter(([name]) => !except.has(name));
  const preserve = json["x-kubernetes-preserve-unknown-fields"] === true;
  const values = json.additionalProperties;
  if (isRecord(values))
    return { type: "map", values: schemaOfJson(values), ...pick(json, "minProperties", "maxProperties") };
  if (properties.length === 0 && (preserve || values === true)) return { type: "any", object: true };
  const required = textsAt(json, "required").filter((name) => !except.has(name));
  return {
    type: "object",
    fields: Object.fromEntries(properties.map(([name, inner]) => [name, schemaOfJson(inner)])),
    ...(required.length === 0 ? {} : { required }),
    ...pick(json, "minProperties", "maxProperties"),
    ...(preserve ? { preserveUnknown: true as const } : {}),
    ...renamed(json, "x-kubernetes-map-type", "mapType"),
  };
}

function common(json: Fields): Partial<Schema> {
  const rules = json["x-kubernetes-validations"];
  const oneOf = json.oneOf;
  const allOf = [
    ...(Array.isArray(json.allOf) ? json.allOf : []),
    ...(Array.isArray(oneOf) ? [{ oneOf }] : []),
  ] as readonly Junctor[];
  return {
    ...(json.default === undefined ? {} : { default: json.default }),
    ...(json.nullable === true ? { nullable: true as const } : {}),
    ...(Array.isArray(rules) ? { rules: rules as readonly Rule[] } : {}),
    ...(Array.isArray(json.anyOf) && json["x-kubernetes-int-or-string"] !== true
      ? { anyOf: json.anyOf as readonly Junctor[] }
      : {}),
    ...(allOf.length === 0 ? {} : { allOf }),
    ...(isRecord(json.not) ? { not: json.not as Junctor } : {}),
  };
}

function pick(json: Fields, ...names: readonly string[]): Fields {
  return Object.fromEntries(names.filter((name) => json[name] !== undefined).map((name) => [name, json[name]]));
}

function renamed(json: Fields, from: string, to: string): Fields {
  return json[from] === undefined ? {} : { [to]: json[from] };
}
