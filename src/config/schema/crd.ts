/** A kind in, its CustomResourceDefinition out, as `kubectl apply` takes it. */
import { type Kind, type Schema, specOf } from "../../model/index.ts";

export type JsonSchema = Readonly<Record<string, unknown>>;

export interface CustomResourceDefinition {
  readonly apiVersion: "apiextensions.k8s.io/v1";
  readonly kind: "CustomResourceDefinition";
  readonly metadata: Readonly<Record<string, unknown>> & { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

export function crdFor(kind: Kind): CustomResourceDefinition {
  const { plural, singular, shortNames, categories, listKind } = kind;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      ...(kind.crdAnnotations ? { annotations: kind.crdAnnotations } : {}),
      ...(kind.crdLabels ? { labels: kind.crdLabels } : {}),
      name: `${plural}.${kind.group}`,
    },
    spec: {
      group: kind.group,
      names: {
        ...(categories.length > 0 ? { categories } : {}),
        kind: kind.kind,
        listKind,
        plural,
        ...(shortNames.length > 0 ? { shortNames } : {}),
        singular,
      },
      scope: kind.scope,
      versions: kind.versions.map((version) => ({
        ...(kind.printerColumns.length > 0 ? { additionalPrinterColumns: kind.printerColumns } : {}),
        ...(version.deprecationWarning ? { deprecated: true, deprecationWarning: version.deprecationWarning } : {}),
        name: version.name,
        schema: { openAPIV3Schema: objectSchema(kind, version.name) },
        served: version.served,
        storage: version.storage,
        subresources: kind.status ? { status: {} } : {},
      })),
    },
  };
}

/** The schema of the whole object, as `kubectl explain` and the API's OpenAPI document show it. */
export function objectSchema(kind: Kind, version?: string): JsonSchema {
  const head =
    kind.encoding === "kubernetes"
      ? { apiVersion: { type: "string" }, kind: { type: "string" }, metadata: { type: "object" } }
      : {};
  return {
    type: "object",
    properties: {
      ...head,
      spec: jsonSchema(specOf(kind, version)),
      ...(kind.status ? { status: jsonSchema(kind.status) } : {}),
    },
    ...(kind.required ? { required: kind.required } : {}),
  };
}

function jsonSchema(schema: Schema): JsonSchema {
  return { ...shape(schema), ...common(schema) };
}

function common(schema: Schema): JsonSchema {
  const { description, nullable, rules, anyOf, allOf, not } = schema;
  return {
    ...(description === undefined ? {} : { description }),
    ...(schema.default === undefined ? {} : { default: schema.default }),
    ...(nullable ? { nullable } : {}),
    ...(rules && rules.length > 0 ? { "x-kubernetes-validations": rules } : {}),
    ...(anyOf ? { anyOf } : {}),
    ...(not ? { not } : {}),
    ...junctors(schema, allOf ?? []),
  };
}

/** One oneof stands by itself, several stand in `allOf`, as protobuf's CRD generator writes them. */
function junctors(schema: Schema, allOf: readonly unknown[]): JsonSchema {
  const groups = schema.type === "object" ? (schema.oneOf ?? []).map(oneOf) : [];
  const [first] = groups;
  if (groups.length === 1 && allOf.length === 0 && first) return first;
  const all = [...allOf, ...groups];
  const [only] = all;
  return all.length === 0 ? {} : all.length === 1 && isOneOf(only) ? only : { allOf: all };
}

const isOneOf = (value: unknown): value is JsonSchema =>
  typeof value === "object" && value !== null && Object.keys(value).join() === "oneOf";

function oneOf(names: readonly string[]): JsonSchema {
  const each = names.map((name) => ({ required: [name] }));
  return { oneOf: [{ not: { anyOf: each } }, ...each] };
}

function shape(schema: Schema): JsonSchema {
  switch (schema.type) {
    case "object":
      return {
        type: "object",
        ...(Object.keys(schema.fields).length > 0 ? { properties: properties(schema.fields) } : {}),
        ...pick(schema, ["required", "minProperties", "maxProperties"]),
        ...(schema.preserveUnknown ? { "x-kubernetes-preserve-unknown-fields": true } : {}),
        ...(schema.mapType ? { "x-kubernetes-map-type": schema.mapType } : {}),
      };
    case "map":
      return {
        type: "object",
        additionalProperties: jsonSchema(schema.values),
        ...pick(schema, ["minProperties", "maxProperties"]),
      };
    case "array":
      return {
        type: "array",
        items: jsonSchema(schema.items),
        ...pick(schema, ["minItems", "maxItems"]),
        ...(schema.listType ? { "x-kubernetes-list-type": schema.listType } : {}),
        ...(schema.listMapKeys ? { "x-kubernetes-list-map-keys": schema.listMapKeys } : {}),
      };
    case "any":
      return { ...(schema.object ? { type: "object" } : {}), "x-kubernetes-preserve-unknown-fields": true };
    case "int-or-string":
      return {
        anyOf: [{ type: "integer" }, { type: "string" }],
        "x-kubernetes-int-or-string": true,
        ...pick(schema, ["pattern", "minLength", "maxLength"]),
      };
    default:
      return {
        type: schema.type,
        ...("allowed" in schema ? { enum: schema.allowed } : {}),
        ...pick(schema, ["format", "enum", "pattern", "minLength", "maxLength", "minimum", "maximum"]),
      };
  }
}

const properties = (fields: Readonly<Record<string, Schema>>): JsonSchema =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, jsonSchema(field)]));

function pick(schema: Schema, names: readonly string[]): JsonSchema {
  return Object.fromEntries(
    Object.entries(schema).filter(([name, value]) => names.includes(name) && value !== undefined),
  );
}
