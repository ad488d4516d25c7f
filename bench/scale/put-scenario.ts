/** An API and a size in; the scenario on it out, and what brings the API back to how it was found. */
import type { KubeObject } from "../../src/model/index.ts";
import { changedKinds, meshConfig } from "./changes.ts";
import type { MeshApi } from "./mesh-api.ts";
import { type ScenarioSize, scenario } from "./scenario.ts";

/** Once none of the namespaces has gone for so long, there is no controller that would end them. */
const noControllerMs = 10_000;
const pollMs = 200;

/** What it returns removes all that is in the scenario's namespaces, whoever wrote it, and these. */
export async function putScenario(
  api: MeshApi,
  size: ScenarioSize,
  patienceMs = noControllerMs,
): Promise<() => Promise<void>> {
  const objects = scenario(size);
  const namespaces = objects.filter(({ kind }) => kind === "Namespace");
  const settings = await api.find(meshConfig({}));
  await api.apply(namespaces);
  await api.apply(objects.filter(({ kind }) => kind !== "Namespace"));
  return async () => {
    if (settings) await api.apply([withoutRevision(settings)]);
    else await api.remove([meshConfig({})]);
    await api.remove(namespaces);
    const names = new Set(namespaces.map(({ metadata }) => metadata.name));
    // A cluster's own controller may be at it too.
    for (const kind of changedKinds)
      await api.remove((await api.list(kind)).filter(({ metadata }) => names.has(metadata.namespace ?? "")));
    await untilGone(api, namespaces, patienceMs);
  };
}

const withoutRevision = ({ metadata: { name, namespace }, ...rest }: KubeObject): KubeObject => ({
  ...rest,
  metadata: { name, namespace },
});

async function untilGone(api: MeshApi, namespaces: readonly KubeObject[], patienceMs: number): Promise<void> {
  const names = new Set(namespaces.map(({ metadata }) => metadata.name));
  let [least, sinceMs] = [Number.POSITIVE_INFINITY, performance.now()];
  for (;;) {
    const left = (await api.list(namespace)).filter(({ metadata }) => names.has(metadata.name));
    if (left.length === 0) return;
    if (left.length < least) [least, sinceMs] = [left.length, performance.now()];
    else if (performance.now() - sinceMs > patienceMs) {
      for (const one of left) await api.finalize(one);
      sinceMs = performance.now();
    }
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

const namespace = { apiVersion: "v1", kind: "Namespace" } as const;
