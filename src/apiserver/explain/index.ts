/** A kind of the mesh and its OpenAPI schema in, the schema with a sentence for each field out: what `kubectl explain` shows. */
import { isRecord } from "../../lib/index.ts";
import { type Kind, kindOfPlural, type Schema } from "../../model/index.ts";
import type { JsonSchema } from "../kind.ts";
import { commonText } from "./common.ts";
import { otherText } from "./others.ts";
import { trafficText } from "./traffic.ts";

let table: ReadonlyMap<string, string> | undefined;

/** Read when somebody asks: most processes never do. */
function sentences(): ReadonlyMap<string, string> {
  table ??= new Map(
    `${commonText}${trafficText}${otherText}`
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => {
        const at = line.indexOf(": ");
        return [line.slice(0, at), line.slice(at + 2)];
      }),
  );
  return table;
}

export function explained(group: string, plural: string, schema: JsonSchema): JsonSchema {
  const kind = kindOfPlural(group, plural);
  if (!kind) return schema;
  const head = sentences().get(nameOf(kind.spec) ?? kind.kind);
  return { ...(head === undefined ? {} : { description: head }), ...schema, properties: withParts(kind, schema) };
}

function withParts(kind: Kind, schema: JsonSchema): JsonSchema {
  const properties = isRecord(schema.properties) ? schema.properties : {};
  const part = (name: string, node: Schema | undefined): object =>
    node && isRecord(properties[name]) ? { [name]: described(name, undefined, node, properties[name]) } : {};
  return { ...properties, ...part("spec", kind.spec), ...part("status", kind.status) };
}

function described(name: string, message: string | undefined, node: Schema, json: JsonSchema): JsonSchema {
  const known = sentences();
  const text = (message === undefined ? undefined : known.get(`${message}.${name}`)) ?? known.get(name);
  return { ...(text === undefined ? {} : { description: text }), ...inside(node, json) };
}

function inside(node: Schema, json: JsonSchema): JsonSchema {
  switch (node.type) {
    case "object": {
      const properties = isRecord(json.properties) ? json.properties : {};
      const message = nameOf(node);
      const fields = Object.entries(properties).map(([name, inner]) => {
        const field = node.fields[name];
        return [name, field && isRecord(inner) ? described(name, message, field, inner) : inner];
      });
      return fields.length === 0 ? json : { ...json, properties: Object.fromEntries(fields) };
    }
    case "array":
      return isRecord(json.items) ? { ...json, items: inside(node.items, json.items) } : json;
    case "map":
      return isRecord(json.additionalProperties)
        ? { ...json, additionalProperties: inside(node.values, json.additionalProperties) }
        : json;
    default:
      return json;
  }
}

/** The last word of the message's name in protobuf. */
function nameOf(node: Schema): string | undefined {
  return "proto" in node ? node.proto?.split(".").at(-1) : undefined;
}
