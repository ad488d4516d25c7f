/** A real API and, on it, what the control plane has of it: a client with its rights only, and watched objects. */
import { join } from "node:path";
import { controlPlane } from "../../apiserver/index.ts";
import { startApi, type TestApi } from "../../apiserver/testing.ts";
import { type Collection, createGraph, type Graph } from "../../collections/index.ts";
import { createHttpSource, createKubeClient, type KubeClient, loadKubeconfig } from "../../kube/index.ts";
import { silentLogger } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";
import { watchedKind, watchObjects } from "../watched-kinds.ts";

export interface ControlledApi {
  readonly api: TestApi;
  readonly graph: Graph;
  /** As the control plane. */
  readonly client: KubeClient;
  /** May do everything, as a user with kubectl. */
  readonly admin: KubeClient;
  readonly stop: AbortController;
  objects(group: string, kind: string): Collection<KubeObject>;
  synced(): Promise<void>;
  create(object: KubeObject): Promise<KubeObject>;
  /** The object, once the condition holds in what the watch has brought. */
  until(
    group: string,
    kind: string,
    key: string,
    holds: (object: KubeObject | undefined) => boolean,
  ): Promise<KubeObject>;
  close(): Promise<void>;
}

export async function startControlledApi(options: Parameters<typeof startApi>[0] = {}): Promise<ControlledApi> {
  const api = await startApi(options);
  const connect = async (file: string): Promise<KubeClient> =>
    createKubeClient(await loadKubeconfig({ paths: [file], env: {} }));
  const ownFile = join(api.dir, "control-plane");
  await api.server.writeKubeconfig(ownFile, controlPlane);
  const client = await connect(ownFile);
  const admin = await connect(api.kubeconfig);
  const graph = createGraph();
  const source = createHttpSource({ graph, client, log: silentLogger, random: () => 0.5 });
  const watched = watchObjects(source);
  const stop = new AbortController();
  return {
    api,
    graph,
    client,
    admin,
    stop,
    objects: watched.objects,
    synced: watched.synced,
    create: (object) => {
      const slash = object.apiVersion.indexOf("/");
      return admin.create(watchedKind(slash < 0 ? "" : object.apiVersion.slice(0, slash), object.kind), object);
    },
    until: (group, kind, key, holds) => untilHolds(watched.objects(group, kind), key, holds),
    async close() {
      stop.abort();
      source.close();
      client.close();
      admin.close();
      await api.close();
    },
  };
}

/** Only what hangs should meet it: a machine may be busy with other things. */
const patienceMs = 120_000;

function untilHolds(
  objects: Collection<KubeObject>,
  key: string,
  holds: (object: KubeObject | undefined) => boolean,
): Promise<KubeObject> {
  return new Promise((resolve, reject) => {
    const check = (): void => {
      const object = objects.get(key);
      if (!holds(object)) return;
      clearTimeout(timer);
      unsubscribe();
      resolve(object ?? { apiVersion: "", kind: "", metadata: { name: "" } });
    };
    const timer = setTimeout(() => {
      unsubscribe();
      reject(new Error(`${key} is still ${JSON.stringify(objects.get(key))}`));
    }, patienceMs);
    const unsubscribe = objects.subscribe((changed) => changed === key && check());
    check();
  });
}
