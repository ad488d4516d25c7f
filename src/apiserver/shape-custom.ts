/** A custom kind and an object in; pruned, defaulted and checked against the kind's schema and CEL rules out. */
import { isDeepStrictEqual } from "node:util";
import { acceptInSteps, type CelRules, loadCel, objectSchema, shapeObject } from "../config/index.ts";
import { type Kind, type KubeObject, kindOfPlural } from "../model/index.ts";
import { schemaOfJson } from "./json-schema.ts";
import type { ApiKind, JsonSchema } from "./kind.ts";
import type { Checked, Decoded, SchemaValidator } from "./shape.ts";

export function createCustomValidator(): SchemaValidator {
  let cel: CelRules | undefined;
  const plans = new WeakMap<JsonSchema, Plan>();
  const planOf = (kind: ApiKind, schema: JsonSchema): Plan => {
    let plan = plans.get(schema);
    if (!plan) {
      plan = makePlan(kind, schema);
      plans.set(schema, plan);
    }
    return plan;
  };
  return {
    async ready() {
      // CEL costs some 100 ms to load: only those pay who write custom resources.
      cel ??= await loadCel();
    },
    decode: (kind, schema, object) => planOf(kind, schema).decode(object),
    check(kind, schema, object, before, part) {
      if (!cel) throw new Error("the schema validator was used before it was ready");
      return planOf(kind, schema).check(object, before, part, cel);
    },
  };
}

interface Plan {
  decode(object: KubeObject): Decoded;
  check(
    object: KubeObject,
    before: KubeObject | undefined,
    part: "spec" | "status",
    cel: CelRules,
  ): Generator<void, Checked>;
}

/** Our own kinds are checked by the schema they were made from; a definition that somebody wrote, by what it says. */
function makePlan(kind: ApiKind, schema: JsonSchema): Plan {
  const own = kindOfPlural(kind.group, kind.plural);
  // What was stored has been JSON, where fields that are undefined do not exist.
  if (own && isDeepStrictEqual(plain(objectSchema(own)), plain(schema))) return plan(own);
  return foreignPlan(kind, schema);
}

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

function plan(kind: Kind): Plan {
  return {
    decode(object) {
      const shaped = shapeObject(kind, object);
      return { object: shaped.object as KubeObject, unknown: shaped.unknownFields };
    },
    *check(object, before, part, cel) {
      const old = before === undefined ? {} : { old: before };
      const accepted = yield* acceptInSteps(kind, object, { cel, part, ...old });
      return { object: accepted.object as KubeObject, errors: accepted.issues };
    },
  };
}

/** Its top level may have any fields, so the whole body is checked as if it were one field. */
function foreignPlan(kind: ApiKind, schema: JsonSchema): Plan {
  const body = schemaOfJson(schema, new Set(["apiVersion", "kind", "metadata"]));
  const node = body.type === "object" ? body : { type: "object" as const, fields: {}, preserveUnknown: true as const };
  const wrapped: Kind = {
    group: kind.group,
    versions: [{ name: kind.version, served: true, storage: true }],
    kind: kind.kind,
    listKind: kind.listKind,
    plural: kind.plural,
    singular: kind.singular,
    shortNames: [],
    categories: [],
    scope: kind.namespaced ? "Namespaced" : "Cluster",
    printerColumns: [],
    spec: node,
    status: undefined,
    encoding: "kubernetes",
  };
  const inner = plan(wrapped);
  const wrap = ({ apiVersion, kind: name, metadata, ...rest }: KubeObject): KubeObject => ({
    apiVersion,
    kind: name,
    metadata,
    spec: rest,
  });
  const unwrap = ({ apiVersion, kind: name, metadata, spec }: KubeObject): KubeObject => ({
    apiVersion,
    kind: name,
    metadata,
    ...(spec as object),
  });
  const path = (text: string): string => text.replace(/^spec\.?/, "");
  return {
    decode(object) {
      const shaped = inner.decode(wrap(object));
      return { object: unwrap(shaped.object), unknown: shaped.unknown.map(path) };
    },
    *check(object, before, _part, cel) {
      const checked = yield* inner.check(wrap(object), before && wrap(before), "spec", cel);
      const errors = checked.errors.map((error) => ({ ...error, path: path(error.path) }));
      return { object: unwrap(checked.object), errors };
    },
  };
}
