/** Objects that every start makes sure of in; they are in the store afterwards. Definitions are kept up to date, the rest is only created. */
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

export async function seed(parts: Parts, objects: readonly KubeObject[]): Promise<void> {
  const writes = objects.map((object) => write(parts, object));
  await Promise.all(writes);
}

async function write(parts: Parts, object: KubeObject): Promise<void> {
  const at = object.apiVersion.lastIndexOf("/");
  const [group, version] = [at < 0 ? "" : object.apiVersion.slice(0, at), object.apiVersion.slice(at + 1)];
  const kind = parts.registry.findByKind(group, version, object.kind);
  if (!kind) throw new Error(`the API does not serve ${object.apiVersion} ${object.kind}`);
  const resource = resourceOf(kind);
  const key = objectKey(object.metadata);
  const before = parts.store.get(resource, key);
  const wanted = applyDefaults(
    kind,
    resource === customResourceDefinitions
      ? { ...object, metadata: { ...object.metadata, labels: { ...object.metadata.labels, ...owner } } }
      : object,
  );
  if (!before) {
    await parts.store.write(
      resource,
      key,
      undefined,
      establish(
        kind,
        prepareNew(kind, wanted, object.metadata.name, object.metadata.namespace, parts.now()),
        parts.now(),
      ),
    );
    return;
  }
  if (resource !== customResourceDefinitions || before.metadata.labels?.["app.kubernetes.io/managed-by"] !== "fairlead")
    return;
  if (isDeepStrictEqual(before.spec, JSON.parse(JSON.stringify(wanted.spec)))) return;
  await parts.store.write(
    resource,
    key,
    before.metadata.resourceVersion,
    establish(kind, prepareUpdate(kind, wanted, before), parts.now()),
  );
}
