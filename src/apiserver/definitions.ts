/** Kubernetes' own schemas, generated at build time, by definition name; parsed when they are first needed. */
import { kubeSchemas } from "../gen/kube-schemas.js";
import { isRecord } from "../lib/index.ts";
import type { ApiKind, JsonSchema } from "./kind.ts";

export interface Definitions {
  readonly names: readonly string[];
  get(name: string): JsonSchema | undefined;
  /** Follows references; the empty schema for what is unknown. */
  resolve(schema: unknown): JsonSchema;
  schemaOf(kind: ApiKind): JsonSchema;
}

export const objectMetaName = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

export function createDefinitions(): Definitions {
  let parsed: ReadonlyMap<string, JsonSchema> | undefined;
  const all = (): ReadonlyMap<string, JsonSchema> => {
    // Written by our own build, so it needs no guard.
    parsed ??= new Map(Object.entries(JSON.parse(kubeSchemas) as Record<string, JsonSchema>));
    return parsed;
  };
  const definitions: Definitions = {
    get names() {
      return [...all().keys()];
    },
    get: (name) => all().get(name),
    resolve(schema) {
      if (!isRecord(schema)) return {};
      const ref = schema.$ref;
      return typeof ref === "string" ? (all().get(ref) ?? {}) : schema;
    },
    schemaOf(kind) {
      if ("definition" in kind.schema) return all().get(kind.schema.definition) ?? {};
      const properties = isRecord(kind.schema.custom.properties) ? kind.schema.custom.properties : {};
      // A CRD says little of metadata; it has its usual shape all the same.
      return { ...kind.schema.custom, properties: { ...properties, metadata: { $ref: objectMetaName } } };
    },
  };
  return definitions;
}
