/** The embedded API in; the controllers of a cluster, running on it, out. */
import { type Collection, createGraph } from "../../collections/index.ts";
import { createHttpSource, type KindRef, type KubeClient, type ObjectSource } from "../../kube/index.ts";
import type { Logger } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";
import {
  type ControllerContext,
  isHeldByOther,
  keepNode,
  type NetworkPlan,
  removePod,
  runAccounts,
  runAddresses,
  runEndpointSlices,
  runGarbageCollection,
  runImagePods,
  runNamespaceEnd,
  runPodLeases,
  standaloneKinds,
} from "../../standalone/index.ts";

export interface Controllers {
  close(): void;
}

/** The API is our own child, and no herd waits for it: who judges runners by their renewals has to see them again soon. */
const maxBackoffMs = 2_000;

export async function startControllers(client: KubeClient, plan: NetworkPlan, log: Logger): Promise<Controllers> {
  const graph = createGraph();
  const source: ObjectSource = createHttpSource({ graph, client, log, random: Math.random, maxBackoffMs });
  const stop = new AbortController();
  const watched = new Map<string, { objects: Collection<KubeObject>; synced: Promise<void> }>();
  const objects = (kind: KindRef): Collection<KubeObject> => {
    const id = `${kind.group}/${kind.plural}`;
    const found = watched.get(id) ?? source.watchKind(kind);
    watched.set(id, found);
    return found.objects;
  };
  const context: ControllerContext = {
    client,
    objects,
    log,
    random: Math.random,
    now: () => new Date(),
    signal: stop.signal,
  };
  for (const kind of [
    standaloneKinds.namespaces,
    standaloneKinds.services,
    standaloneKinds.pods,
    standaloneKinds.endpointSlices,
    standaloneKinds.leases,
    standaloneKinds.serviceAccounts,
  ])
    objects(kind);
  await Promise.all([...watched.values()].map(({ synced }) => synced));
  // Before Pods are removed: their addresses are not to be given out again at once.
  runAddresses(context, plan);
  await removeDeadPods(context);
  runAccounts(context);
  runEndpointSlices(context);
  runImagePods(context);
  runNamespaceEnd(context);
  await runGarbageCollection(context);
  runPodLeases(context, () => performance.now());
  await keepNode({ ...context, hostAddress: plan.hostAddress });
  return {
    close() {
      stop.abort();
      source.close();
    },
  };
}

/** Nobody can have renewed a lease while the API was down: Pods of a runner that is gone must not be served from the start. */
async function removeDeadPods(context: ControllerContext): Promise<void> {
  const [pods, leases] = [context.objects(standaloneKinds.pods), context.objects(standaloneKinds.leases)];
  for (const key of pods.keys()) {
    const pod = pods.get(key);
    const name = pod?.metadata.annotations?.[standaloneKinds.runnerAnnotation];
    if (!pod || name === undefined) continue;
    if (!isHeldByOther(leases.get(`${pod.metadata.namespace}/${name}`))) await removePod(context, pod);
  }
}
