/** The kinds that are served in, OpenAPI documents out: v3 per group and version (what kubectl reads), v2 as one document. */
import { createHash } from "node:crypto";
import { isRecord } from "../lib/index.ts";
import { type Definitions, objectMetaName } from "./definitions.ts";
import { explained } from "./explain/index.ts";
import { type ApiKind, type JsonSchema, standardVerbs } from "./kind.ts";

const metaPackage = "io.k8s.apimachinery.pkg.apis.meta.v1";

export interface OpenApi {
  /** The index of the v3 documents. */
  readonly index: unknown;
  /** `api/v1`, `apis/networking.istio.io/v1`. */
  document(path: string): unknown;
  readonly v2: unknown;
}

export function createOpenApi(kinds: readonly ApiKind[], definitions: Definitions): OpenApi {
  const groups = new Map<string, ApiKind[]>();
  for (const kind of kinds) {
    const path = kind.group === "" ? `api/${kind.version}` : `apis/${kind.group}/${kind.version}`;
    groups.set(path, [...(groups.get(path) ?? []), kind]);
  }
  const hash = (list: readonly ApiKind[]): string =>
    createHash("sha256").update(JSON.stringify(list)).digest("hex").slice(0, 32);
  return {
    get index() {
      const paths = [...groups].map(([path, list]) => [
        path,
        { serverRelativeURL: `/openapi/v3/${path}?hash=${hash(list)}` },
      ]);
      return { paths: Object.fromEntries(paths) };
    },
    document(path) {
      const list = groups.get(path);
      return list && document(path, list, definitions);
    },
    get v2() {
      const all = schemasOf(kinds, definitions, "#/definitions/");
      return { swagger: "2.0", info, paths: {}, definitions: all };
    },
  };
}

const info = { title: "Fairlead", version: "v1.32.0" };

function document(path: string, kinds: readonly ApiKind[], definitions: Definitions): unknown {
  const paths = Object.fromEntries(kinds.flatMap((kind) => pathsOf(path, kind)));
  return {
    openapi: "3.0.0",
    info,
    paths,
    components: { schemas: schemasOf(kinds, definitions, "#/components/schemas/") },
  };
}

function schemaName(kind: ApiKind): string {
  if ("definition" in kind.schema) return kind.schema.definition;
  return `${kind.group.split(".").reverse().join(".")}.${kind.version}.${kind.kind}`;
}

/** The kinds' schemas and all that they refer to. */
function schemasOf(
  kinds: readonly ApiKind[],
  definitions: Definitions,
  prefix: string,
): Readonly<Record<string, unknown>> {
  const out = new Map<string, unknown>();
  const include = (name: string): void => {
    const definition = definitions.get(name);
    if (out.has(name) || !definition) return;
    out.set(name, undefined);
    out.set(name, rewrite(definition, prefix, include));
  };
  for (const kind of kinds) {
    const name = schemaName(kind);
    const gvk = [{ group: kind.group, version: kind.version, kind: kind.kind }];
    const schema = rewrite(
      "definition" in kind.schema ? definitions.schemaOf(kind) : customSchema(kind, definitions),
      prefix,
      include,
    );
    out.set(name, { ...(isRecord(schema) ? schema : {}), "x-kubernetes-group-version-kind": gvk });
  }
  include(`${metaPackage}.DeleteOptions`);
  include(`${metaPackage}.Status`);
  return Object.fromEntries(out);
}

const typeFields = {
  apiVersion: {
    type: "string",
    description: "APIVersion defines the versioned schema of this representation of an object.",
  },
  kind: {
    type: "string",
    description: "Kind is a string value representing the REST resource this object represents.",
  },
  metadata: { $ref: objectMetaName, description: "Standard object's metadata." },
};

function customSchema(kind: ApiKind, definitions: Definitions): JsonSchema {
  const schema = definitions.schemaOf(kind);
  const properties = isRecord(schema.properties) ? schema.properties : {};
  const whole = { ...schema, type: "object", properties: { ...typeFields, ...withoutHead(properties) } };
  return explained(kind.group, kind.plural, whole);
}

function withoutHead({
  apiVersion: _a,
  kind: _k,
  metadata: _m,
  ...rest
}: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return rest;
}

/** References become local ones; words of our own are left out. A reference with a description is wrapped, as siblings of `$ref` do not count. */
function rewrite(schema: unknown, prefix: string, include: (name: string) => void): unknown {
  if (Array.isArray(schema)) return schema.map((item) => rewrite(item, prefix, include));
  if (!isRecord(schema)) return schema;
  const { $ref: ref, "x-quantity": _, "x-numbers": _n, ...rest } = schema;
  if (typeof ref === "string") {
    include(ref);
    return { ...rest, allOf: [{ $ref: `${prefix}${ref}` }] };
  }
  return Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, rewrite(value, prefix, include)]));
}

const queryParameter = (name: string, description: string): unknown => ({
  name,
  in: "query",
  description,
  schema: { type: "string", uniqueItems: true },
});
/** kubectl looks for these before it relies on validation and dry run by the server. */
const writeParameters = [
  queryParameter("dryRun", "When present, indicates that modifications should not be persisted."),
  queryParameter("fieldManager", "The name of the actor or entity that is making these changes."),
  queryParameter("fieldValidation", "How the server handles unknown or duplicate fields: Ignore, Warn or Strict."),
];
const patchTypes = ["application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"];
/** kubectl reads here which patch to send: custom kinds have no strategic merge. */
const patchTypesOf = (kind: ApiKind): readonly string[] =>
  "custom" in kind.schema ? patchTypes : [...patchTypes, "application/strategic-merge-patch+json"];
const methods: Readonly<Record<string, string>> = {
  get: "get",
  update: "put",
  patch: "patch",
  delete: "delete",
  create: "post",
  list: "get",
  deletecollection: "delete",
};

function pathsOf(base: string, kind: ApiKind): readonly [string, unknown][] {
  const collection = `/${base}${kind.namespaced ? "/namespaces/{namespace}" : ""}/${kind.plural}`;
  const verbs = kind.verbs.filter((verb) => standardVerbs.includes(verb) && verb !== "watch");
  const of = (wanted: readonly string[]): unknown =>
    Object.fromEntries(
      verbs.filter((verb) => wanted.includes(verb)).map((verb) => [methods[verb] ?? verb, operation(kind, verb)]),
    );
  const one = of(["get", "update", "patch", "delete"]);
  return [
    [collection, of(["create", "list", "deletecollection"])],
    ...(kind.verbs.includes("get") ? [[`${collection}/{name}`, one] as [string, unknown]] : []),
  ];
}

function operation(kind: ApiKind, verb: string): unknown {
  const schema = { $ref: `#/components/schemas/${schemaName(kind)}` };
  const writes = ["create", "update", "patch"].includes(verb);
  const content =
    verb === "patch"
      ? Object.fromEntries(patchTypesOf(kind).map((type) => [type, { schema: { type: "object" } }]))
      : { "*/*": { schema } };
  return {
    description: `${verb} ${kind.kind}`,
    operationId: `${verb}${kind.group.split(".")[0] ?? ""}${kind.version}${kind.kind}`,
    ...(writes ? { parameters: writeParameters, requestBody: { content } } : {}),
    responses: { 200: { description: "OK", content: { "application/json": { schema } } } },
    "x-kubernetes-action": verb === "create" ? "post" : verb === "update" ? "put" : verb,
    "x-kubernetes-group-version-kind": { group: kind.group, version: kind.version, kind: kind.kind },
  };
}
