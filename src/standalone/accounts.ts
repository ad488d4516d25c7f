/** Namespaces in; the `default` ServiceAccount of each out, as the controller-manager of a cluster makes them. */
import { type ControllerContext, follow } from "./controller.ts";
import { namespaces, serviceAccounts } from "./kinds.ts";
import { createReconciler, type Reconciler } from "./reconciler.ts";

export function runAccounts(context: ControllerContext): Reconciler {
  const all = context.objects(namespaces);
  const accounts = context.objects(serviceAccounts);
  const reconciler = createReconciler({
    name: "default accounts",
    ...context,
    async reconcile(key) {
      const namespace = all.get(key);
      if (!namespace || namespace.metadata.deletionTimestamp !== undefined || accounts.get(`${key}/default`)) return;
      const metadata = { name: "default", namespace: key };
      if (await context.client.find(serviceAccounts, metadata)) return;
      await context.client.create(serviceAccounts, { apiVersion: "v1", kind: "ServiceAccount", metadata });
    },
  });
  follow(all, (key) => reconciler.add(key));
  follow(accounts, (key, now) => {
    if (!now && key.endsWith("/default")) reconciler.add(key.slice(0, key.indexOf("/")));
  });
  return reconciler;
}
