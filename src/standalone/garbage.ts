/**
 * Objects and their owner references in; what a cluster's garbage collector does with them out: dependents go when their
 * last owner has gone, before it where it is deleted in the foreground, and are let go where they are to be orphans.
 */
import type { KindRef } from "../kube/index.ts";
import type { KubeObject, OwnerReference } from "../model/index.ts";
import { type ControllerContext, follow } from "./controller.ts";
import { discoverKinds } from "./discovery.ts";
import { ignoreMissing } from "./endpoint-slices.ts";
import { createReconciler, type Reconciler } from "./reconciler.ts";

interface Known {
  readonly kind: KindRef;
  readonly object: KubeObject;
}

const foreground = "foregroundDeletion";
const orphan = "orphan";

export async function runGarbageCollection(context: ControllerContext): Promise<Reconciler> {
  const kinds = (await discoverKinds(context.client)).filter((kind) => kind.kind !== "Event");
  const living = new Set<string>();
  const dependents = new Map<string, Known>();
  /** Owners that wait for us, by their uid. */
  const ending = new Map<string, Known>();
  const id = (kind: KindRef, key: string): string => `${kind.group}/${kind.plural}/${key}`;
  const dependentsOf = (uid: string): readonly (readonly [string, Known])[] =>
    [...dependents].filter(([, { object }]) => ownersOf(object).some((owner) => owner.uid === uid));

  const reconciler = createReconciler({
    name: "garbage collection",
    ...context,
    async reconcile(key) {
      const owner = ending.get(key);
      if (owner) return endOwner(context, owner, dependentsOf(key));
      const dependent = dependents.get(key);
      const owners = dependent ? ownersOf(dependent.object) : [];
      if (!dependent || owners.length === 0) return;
      if (owners.some(({ uid }) => living.has(uid) && !waits(ending.get(uid), foreground))) return;
      // The cache may be behind: ask the API before anything is deleted.
      for (const owner of owners) if (await isHeldBy(context, kinds, dependent.object, owner)) return;
      const { name, namespace, uid } = dependent.object.metadata;
      await context.client.delete(dependent.kind, { name, namespace }, { uid }).catch(ignoreMissing);
    },
  });

  for (const kind of kinds)
    follow(context.objects(kind), (key, now, before) => {
      const own = id(kind, key);
      const [uid, gone] = [now?.metadata.uid, before?.metadata.uid];
      if (uid) living.add(uid);
      if (uid && now && isEnding(now)) {
        ending.set(uid, { kind, object: now });
        reconciler.add(uid);
        for (const [dependent] of dependentsOf(uid)) reconciler.add(dependent);
      } else if (uid) ending.delete(uid);
      if (now && ownersOf(now).length > 0) {
        dependents.set(own, { kind, object: now });
        reconciler.add(own);
      } else dependents.delete(own);
      // Whoever waits for this one may go on.
      for (const owner of before ? ownersOf(before) : []) if (ending.has(owner.uid)) reconciler.add(owner.uid);
      if (gone === undefined || gone === uid) return;
      living.delete(gone);
      ending.delete(gone);
      for (const [dependent] of dependentsOf(gone)) reconciler.add(dependent);
    });
  return reconciler;
}

const ownersOf = (object: KubeObject): readonly OwnerReference[] => object.metadata.ownerReferences ?? [];

const waits = (owner: Known | undefined, finalizer: string): boolean =>
  owner?.object.metadata.finalizers?.includes(finalizer) ?? false;

function isEnding({ metadata: { deletionTimestamp, finalizers = [] } }: KubeObject): boolean {
  return deletionTimestamp !== undefined && finalizers.some((name) => name === foreground || name === orphan);
}

/** Lets the owner go once what it waits for is done. */
async function endOwner(
  context: ControllerContext,
  { kind, object }: Known,
  dependents: readonly (readonly [string, Known])[],
): Promise<void> {
  const { name, namespace, uid } = object.metadata;
  const isOrphaning = object.metadata.finalizers?.includes(orphan);
  if (isOrphaning) for (const [, dependent] of dependents) await letGo(context, dependent, uid ?? "");
  else if (dependents.some(([, dependent]) => blocks(dependent.object, uid ?? ""))) return;
  const current = await context.client.find(kind, { name, namespace });
  if (!current || current.metadata.uid !== uid) return;
  const finalizers = current.metadata.finalizers?.filter((one) => one !== foreground && one !== orphan) ?? [];
  const metadata = { resourceVersion: current.metadata.resourceVersion, finalizers };
  await context.client.patch(kind, { name, namespace }, "merge", { metadata }).catch(ignoreMissing);
}

function blocks(dependent: KubeObject, uid: string): boolean {
  return ownersOf(dependent).some((owner) => owner.uid === uid && owner.blockOwnerDeletion === true);
}

async function letGo(context: ControllerContext, { kind, object }: Known, uid: string): Promise<void> {
  const { name, namespace, resourceVersion } = object.metadata;
  const ownerReferences = ownersOf(object).filter((owner) => owner.uid !== uid);
  const metadata = { resourceVersion, ownerReferences };
  await context.client.patch(kind, { name, namespace }, "merge", { metadata }).catch(ignoreMissing);
}

/** Whether the owner is there, and not waiting for the dependent's end. */
async function isHeldBy(
  context: ControllerContext,
  kinds: readonly KindRef[],
  dependent: KubeObject,
  owner: OwnerReference,
): Promise<boolean> {
  const group = owner.apiVersion.includes("/") ? owner.apiVersion.slice(0, owner.apiVersion.indexOf("/")) : "";
  const kind = kinds.find((candidate) => candidate.group === group && candidate.kind === owner.kind);
  // A kind that we do not know is nothing that we may judge.
  if (!kind) return true;
  const found = await context.client.find(kind, {
    name: owner.name,
    namespace: kind.namespaced ? dependent.metadata.namespace : undefined,
  });
  return found?.metadata.uid === owner.uid && !(isEnding(found) && found.metadata.finalizers?.includes(foreground));
}
