/** Namespaces that are being deleted in; everything in them removed, then the namespaces themselves, out. */
import { type ControllerContext, follow } from "./controller.ts";
import { discoverKinds } from "./discovery.ts";
import { ignoreMissing } from "./endpoint-slices.ts";
import { namespaces } from "./kinds.ts";
import { createReconciler, type Reconciler } from "./reconciler.ts";

export function runNamespaceEnd(context: ControllerContext): Reconciler {
  const all = context.objects(namespaces);
  const { client } = context;
  const reconciler = createReconciler({
    name: "namespace end",
    ...context,
    async reconcile(key) {
      const namespace = all.get(key);
      if (namespace?.metadata.deletionTimestamp === undefined) return;
      let left = 0;
      for (const kind of await discoverKinds(client)) {
        if (!kind.namespaced) continue;
        const { items } = await client.list(kind, { namespace: key });
        for (const { metadata } of items) {
          if (metadata.finalizers?.length) left++;
          if (metadata.deletionTimestamp === undefined)
            await client.delete(kind, { namespace: key, name: metadata.name }).catch(ignoreMissing);
        }
      }
      // Objects with finalizers are waited for: their going is another change that brings us back.
      if (left > 0) throw new Error(`${left} objects wait for their finalizers`);
      const current = await client.find(namespaces, { name: key });
      if (!current) return;
      await client.raw("PUT", `/api/v1/namespaces/${encodeURIComponent(key)}/finalize`, {
        ...current,
        spec: { finalizers: [] },
      });
    },
  });
  follow(all, (key, now) => {
    if (now?.metadata.deletionTimestamp !== undefined) reconciler.add(key);
  });
  return reconciler;
}
