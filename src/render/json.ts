/** Encoded resources in, proto3 JSON out, with every Any expanded. */
import { type DescMessage, fromBinary, toJson } from "@bufbuild/protobuf";
import { type ResourceType, types } from "../model/index.ts";
import { loadAllTypes } from "./all-types.ts";

export type JsonResource = Readonly<Record<string, unknown>>;

/** Loads all generated types: needed to expand Any, hence only by those who print, never on the way to a proxy. */
export async function createJsonPrinter(): Promise<(type: ResourceType, bytes: Uint8Array) => JsonResource> {
  const registry = await loadAllTypes();
  const schemas = new Map<ResourceType, DescMessage>();
  for (const type of Object.values(types)) {
    const schema = registry.getMessage(type.slice(type.indexOf("/") + 1));
    if (schema) schemas.set(type, schema);
  }
  return (type, bytes) => {
    const schema = schemas.get(type);
    if (!schema) throw new Error(`no schema for ${type}`);
    return toJson(schema, fromBinary(schema, bytes), { registry }) as JsonResource;
  };
}
