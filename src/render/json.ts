/** Encoded resources in, proto3 JSON out, with every Any expanded. */
import { createRegistry, type DescFile, type DescMessage, fromBinary, type Registry, toJson } from "@bufbuild/protobuf";
import {
  BoolValueSchema,
  DurationSchema,
  StringValueSchema,
  StructSchema,
  UInt32ValueSchema,
} from "@bufbuild/protobuf/wkt";
import { type ResourceType, types } from "../model/index.ts";

export type JsonResource = Readonly<Record<string, unknown>>;

/** Loads all generated types: needed to expand Any, hence only by those who print, never on the way to a proxy. */
export async function createJsonPrinter(): Promise<(type: ResourceType, bytes: Uint8Array) => JsonResource> {
  const { allFiles } = await import("../gen/all.js");
  const wellKnown = [BoolValueSchema, DurationSchema, StringValueSchema, StructSchema, UInt32ValueSchema];
  const registry: Registry = createRegistry(...(allFiles as readonly DescFile[]), ...wellKnown);
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
