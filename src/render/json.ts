/** Encoded resources in, proto3 JSON out, with every Any expanded. */
import { fromBinary, toJson } from "@bufbuild/protobuf";
import type { ResourceType } from "../model/index.ts";
import { createLoadedTypes } from "./all-types.ts";

export type JsonResource = Readonly<Record<string, unknown>>;

/** Of what this process has rendered: then the types are loaded, be it because a patch named them. */
export function createJsonPrinter(): (type: ResourceType, bytes: Uint8Array) => JsonResource {
  const loadedTypes = createLoadedTypes();
  return (type, bytes) => {
    const registry = loadedTypes();
    const schema = registry.getMessage(type.slice(type.indexOf("/") + 1));
    if (!schema) throw new Error(`no schema for ${type}`);
    return toJson(schema, fromBinary(schema, bytes), { registry }) as JsonResource;
  };
}
