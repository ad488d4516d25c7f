/** A request's object in; the object in its kind's shape out, or the failure that Kubernetes would answer. */
import { isRecord } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import { applyDefaults } from "./defaults.ts";
import { type Definitions, objectMetaName } from "./definitions.ts";
import { type FieldError, failure } from "./failure.ts";
import type { ApiKind, JsonSchema } from "./kind.ts";
import { shapeCore } from "./shape-core.ts";

/** What a CustomResourceDefinition's schema makes of an object. */
export interface CustomShape {
  readonly object: KubeObject;
  /** Paths of fields that the schema does not know, and that were dropped. */
  readonly unknown: readonly string[];
  readonly errors: readonly FieldError[];
}

/** The port to the schema walker: prunes, fills in defaults, checks types and rules. */
export interface SchemaValidator {
  /** To be awaited before the first use. */
  ready(): Promise<void>;
  shape(
    kind: ApiKind,
    schema: JsonSchema,
    object: KubeObject,
    before: KubeObject | undefined,
    part: "spec" | "status",
  ): CustomShape;
}

export interface Decoded {
  readonly object: KubeObject;
  /** Paths of fields that the kind does not have, and that were dropped. */
  readonly unknown: readonly string[];
}

export interface Shaper {
  /** To be awaited before an object of the kind is written. */
  ready(kind: ApiKind): Promise<void>;
  /** Throws BadRequest for what cannot be decoded. */
  decode(kind: ApiKind, object: KubeObject): Decoded;
  /** Brings an object that admission may have changed into shape again, and says what is wrong with it. */
  check(
    kind: ApiKind,
    object: KubeObject,
    before: KubeObject | undefined,
    part: "spec" | "status",
  ): { readonly object: KubeObject; readonly errors: readonly FieldError[] };
}

export function createShaper(definitions: Definitions, custom: SchemaValidator): Shaper {
  const shape = (kind: ApiKind, object: KubeObject, before: KubeObject | undefined, part: "spec" | "status") => {
    if ("definition" in kind.schema) {
      const core = shapeCore(definitions, definitions.schemaOf(kind), object);
      return {
        object: core.value as KubeObject,
        unknown: core.unknown,
        mismatches: core.mismatches,
        errors: core.missing,
      };
    }
    const meta = shapeCore(definitions, definitions.resolve({ $ref: objectMetaName }), object.metadata, "metadata");
    const metadata = (isRecord(meta.value) ? meta.value : { name: "" }) as unknown as KubeObject["metadata"];
    const rest = custom.shape(kind, kind.schema.custom, { ...object, metadata }, before, part);
    return {
      object: rest.object,
      unknown: [...meta.unknown, ...rest.unknown],
      mismatches: meta.mismatches,
      errors: rest.errors,
    };
  };
  return {
    async ready(kind) {
      if ("custom" in kind.schema) await custom.ready();
    },
    decode(kind, object) {
      const shaped = shape(kind, object, undefined, "spec");
      refuse(kind, shaped.mismatches);
      return { object: applyDefaults(kind, shaped.object), unknown: shaped.unknown };
    },
    check(kind, object, before, part) {
      const shaped = shape(kind, applyDefaults(kind, object), before, part);
      refuse(kind, shaped.mismatches);
      return { object: shaped.object, errors: shaped.errors };
    },
  };
}

function refuse(kind: ApiKind, sentences: readonly string[]): void {
  if (sentences.length === 0) return;
  throw failure(
    "BadRequest",
    `${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: ${sentences.join(", ")}`,
  );
}
