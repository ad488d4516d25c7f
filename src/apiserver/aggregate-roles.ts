/** ClusterRoles that name others by their labels in; their rules, kept the sum of those of the others, out. */
import { FairleadError, type Logger } from "../lib/index.ts";
import { type KubeObject, type LabelSelector, matchesSelector } from "../model/index.ts";
import { listAt } from "./access.ts";
import { ruleOf } from "./rules.ts";
import type { Store } from "./store.ts";

const clusterRoles = "rbac.authorization.k8s.io/clusterroles";

/** Returns how to end it. */
export function aggregateRoles(store: Store, log: Logger): () => void {
  let running = false;
  let again = false;
  const run = async (): Promise<void> => {
    again = true;
    if (running) return;
    running = true;
    try {
      // A sum can be part of another: what was written makes another round.
      while (again) {
        again = false;
        for (const role of store.list(clusterRoles)) await update(store, role);
      }
    } catch (error) {
      log.warn(`aggregated ClusterRoles: ${FairleadError.from(error).message}`);
    } finally {
      running = false;
    }
  };
  const unsubscribe = store.subscribe((event) => {
    if (event.resource === clusterRoles) void run();
  });
  void run();
  return () => {
    unsubscribe();
    running = true;
  };
}

async function update(store: Store, role: KubeObject): Promise<void> {
  const selectors = listAt(role, "aggregationRule", "clusterRoleSelectors") as readonly LabelSelector[];
  if (selectors.length === 0) return;
  const rules = sumOf(store.list(clusterRoles), role, selectors);
  // As a set: two sums that are part of each other would else never be done with putting their rules in order.
  const [had, has] = [new Set(listAt(role, "rules").map(keyOf)), new Set(rules.map(keyOf))];
  if (had.size === has.size && had.isSubsetOf(has)) return;
  await store.write(clusterRoles, role.metadata.name, role.metadata.resourceVersion, { ...role, rules });
}

function sumOf(roles: readonly KubeObject[], sum: KubeObject, selectors: readonly LabelSelector[]): readonly unknown[] {
  const out = new Map<string, unknown>();
  for (const selector of selectors)
    for (const role of roles) {
      if (role.metadata.name === sum.metadata.name || !matchesSelector(selector, role.metadata.labels)) continue;
      for (const rule of listAt(role, "rules")) if (!out.has(keyOf(rule))) out.set(keyOf(rule), rule);
    }
  return [...out.values()];
}

/** The same for rules that say the same: of thousands of rules each would else be compared with each. */
function keyOf(rule: unknown): string {
  return JSON.stringify(ruleOf(rule));
}
