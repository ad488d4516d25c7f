/** Objects whose owners are gone in; their deletion out (owner references, as a cluster's garbage collector follows them). */
import type { KindRef } from "../kube/index.ts";
import type { KubeObject } from "../model/index.ts";
import { type ControllerContext, follow } from "./controller.ts";
import { discoverKinds } from "./discovery.ts";
import { ignoreMissing } from "./endpoint-slices.ts";
import { createReconciler, type Reconciler } from "./reconciler.ts";

export async function runGarbageCollection(context: ControllerContext): Promise<Reconciler> {
  const kinds = (await discoverKinds(context.client)).filter((kind) => kind.kind !== "Event");
  const living = new Set<string>();
  const dependents = new Map<string, { kind: KindRef; object: KubeObject }>();
  const id = (kind: KindRef, key: string): string => `${kind.group}/${kind.plural}/${key}`;

  const reconciler = createReconciler({
    name: "garbage collection",
    ...context,
    async reconcile(key) {
      const dependent = dependents.get(key);
      const owners = dependent?.object.metadata.ownerReferences ?? [];
      if (!dependent || owners.length === 0 || owners.some((owner) => living.has(owner.uid))) return;
      // The cache may be behind: ask the API before anything is deleted.
      for (const owner of owners) if (await ownerExists(context, kinds, dependent.object, owner)) return;
      const { name, namespace, uid } = dependent.object.metadata;
      await context.client.delete(dependent.kind, { name, namespace }, { uid }).catch(ignoreMissing);
    },
  });

  for (const kind of kinds)
    follow(context.objects(kind), (key, now, before) => {
      if (now?.metadata.uid) living.add(now.metadata.uid);
      if (now?.metadata.ownerReferences?.length) {
        dependents.set(id(kind, key), { kind, object: now });
        reconciler.add(id(kind, key));
      } else dependents.delete(id(kind, key));
      const gone = before?.metadata.uid;
      if (gone === undefined || gone === now?.metadata.uid) return;
      living.delete(gone);
      for (const [dependent, { object }] of dependents)
        if (object.metadata.ownerReferences?.some((owner) => owner.uid === gone)) reconciler.add(dependent);
    });
  return reconciler;
}

async function ownerExists(
  context: ControllerContext,
  kinds: readonly KindRef[],
  dependent: KubeObject,
  owner: { apiVersion: string; kind: string; name: string; uid: string },
): Promise<boolean> {
  const group = owner.apiVersion.includes("/") ? owner.apiVersion.slice(0, owner.apiVersion.indexOf("/")) : "";
  const kind = kinds.find((candidate) => candidate.group === group && candidate.kind === owner.kind);
  // A kind that we do not know is nothing that we may judge.
  if (!kind) return true;
  const found = await context.client.find(kind, {
    name: owner.name,
    namespace: kind.namespaced ? dependent.metadata.namespace : undefined,
  });
  return found?.metadata.uid === owner.uid;
}
