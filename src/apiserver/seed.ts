/** Objects that every start makes sure of in; they are in the store afterwards. What is ours is kept up to date, the rest only created. */
import { isDeepStrictEqual } from "node:util";
import { type KubeObject, objectKey } from "../model/index.ts";
import type { Parts } from "./context.ts";
import { customResourceDefinitions } from "./core-kinds.ts";
import { applyDefaults } from "./defaults.ts";
import { establish } from "./establish.ts";
import { resourceOf } from "./kind.ts";
import { prepareNew, prepareUpdate } from "./metadata.ts";

/** Marks definitions as ours: one that a user has applied instead is left alone. */
const owner = { "app.kubernetes.io/managed-by": "fairlead" };
const bootstrapping = "kubernetes.io/bootstrapping";

export async function seed(parts: Parts, objects: readonly KubeObject[]): Promise<void> {
  await Promise.all(objects.map((object) => write(parts, object)));
}

async function write(parts: Parts, object: KubeObject): Promise<void> {
  const at = object.apiVersion.lastIndexOf("/");
  const [group, version] = [at < 0 ? "" : object.apiVersion.slice(0, at), object.apiVersion.slice(at + 1)];
  const kind = parts.registry.findByKind(group, version, object.kind);
  if (!kind) throw new Error(`the API does not serve ${object.apiVersion} ${object.kind}`);
  const resource = resourceOf(kind);
  const key = objectKey(object.metadata);
  const before = parts.store.get(resource, key);
  const wanted = summed(before, applyDefaults(kind, resource === customResourceDefinitions ? owned(object) : object));
  const { name, namespace } = object.metadata;
  const next = before ? prepareUpdate(kind, wanted, before) : prepareNew(kind, wanted, name, namespace, parts.now());
  if (before && (!isOurs(before) || sameContent(before, next))) return;
  await parts.store.write(resource, key, before?.metadata.resourceVersion, establish(kind, next, parts.now()));
}

/** The rules of an aggregated role are made of others': what they are now stays. */
function summed(before: KubeObject | undefined, object: KubeObject): KubeObject {
  return before === undefined || object.aggregationRule === undefined ? object : { ...object, rules: before.rules };
}

function owned(object: KubeObject): KubeObject {
  return { ...object, metadata: { ...object.metadata, labels: { ...object.metadata.labels, ...owner } } };
}

function isOurs({ metadata: { labels = {} } }: KubeObject): boolean {
  return labels["app.kubernetes.io/managed-by"] === "fairlead" || bootstrapping in labels;
}

function sameContent(before: KubeObject, next: KubeObject): boolean {
  const fields = ["spec", "rules", "aggregationRule", "roleRef", "subjects"];
  // What was stored has been JSON, where fields that are undefined do not exist.
  return fields.every((field) =>
    isDeepStrictEqual(before[field], next[field] === undefined ? undefined : JSON.parse(JSON.stringify(next[field]))),
  );
}
