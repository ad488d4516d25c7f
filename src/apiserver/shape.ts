/** A request's object in; the object in its kind's shape out, or the failure that Kubernetes would answer. */
import { isRecord } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import { applyDefaults } from "./defaults.ts";
import { type Definitions, objectMetaName } from "./definitions.ts";
import { type FieldError, failure } from "./failure.ts";
import type { ApiKind, JsonSchema } from "./kind.ts";
import type { Pace } from "./pace.ts";
import { type CoreShape, shapeCore } from "./shape-core.ts";

export interface Decoded {
  readonly object: KubeObject;
  /** Paths of fields that the kind does not have, and that were dropped. */
  readonly unknown: readonly string[];
}

export interface Checked {
  readonly object: KubeObject;
  readonly errors: readonly FieldError[];
}

/** The port to the walker of a CustomResourceDefinition's schema. */
export interface SchemaValidator {
  /** To be awaited before the first use. */
  ready(): Promise<void>;
  /** Prunes and fills in defaults. */
  decode(kind: ApiKind, schema: JsonSchema, object: KubeObject): Decoded;
  /** Checks types and rules, too; pauses where others may be let in. */
  check(
    kind: ApiKind,
    schema: JsonSchema,
    object: KubeObject,
    before: KubeObject | undefined,
    part: "spec" | "status",
  ): Generator<void, Checked>;
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
    pace: Pace,
  ): Promise<Checked>;
}

export function createShaper(definitions: Definitions, custom: SchemaValidator): Shaper {
  const shapeOwn = (kind: ApiKind, object: KubeObject): CoreShape & { readonly object: KubeObject } => {
    const core = shapeCore(definitions, definitions.schemaOf(kind), object);
    refuse(kind, core.mismatches);
    return { ...core, object: core.value as KubeObject };
  };
  /** Of a custom resource Kubernetes itself knows the head. */
  const shapeHead = (kind: ApiKind, object: KubeObject): Decoded => {
    const meta = shapeCore(definitions, definitions.resolve({ $ref: objectMetaName }), object.metadata, "metadata");
    refuse(kind, meta.mismatches);
    const metadata = (isRecord(meta.value) ? meta.value : { name: "" }) as unknown as KubeObject["metadata"];
    return { object: { ...object, metadata }, unknown: meta.unknown };
  };
  return {
    async ready(kind) {
      if ("custom" in kind.schema) await custom.ready();
    },
    decode(kind, object) {
      if ("definition" in kind.schema) {
        const own = shapeOwn(kind, object);
        return { object: applyDefaults(kind, own.object), unknown: own.unknown };
      }
      const head = shapeHead(kind, object);
      const body = custom.decode(kind, kind.schema.custom, head.object);
      return { object: applyDefaults(kind, body.object), unknown: [...head.unknown, ...body.unknown] };
    },
    async check(kind, given, before, part, pace) {
      const object = applyDefaults(kind, given);
      if ("definition" in kind.schema) {
        const own = shapeOwn(kind, object);
        return { object: own.object, errors: own.missing };
      }
      const head = shapeHead(kind, object);
      return pace.run(custom.check(kind, kind.schema.custom, head.object, before, part));
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
