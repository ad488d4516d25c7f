/** Control planes in; two servers and a client in the mesh out, which can be made anew under another control plane. */
import { type KubeClient, kubeKinds } from "../../src/kube/index.ts";
import { service, slice } from "../render/objects.ts";
import { startApp } from "../traffic/app.ts";
import { eventually } from "../traffic/mesh.ts";
import type { TrafficNetwork } from "../traffic/network.ts";
import { addressOfService, put } from "./objects.ts";
import { createTraffic, type Traffic } from "./traffic.ts";
import { type AgentProgram, askAdmin, fairleadAgent, startWorkload, type Workload } from "./workload.ts";

/** How the Pods of a revision reach their control plane. */
export interface PlaneAddress {
  readonly revision: string;
  readonly host: string;
  readonly address: string;
}

export interface Fleet {
  readonly traffic: Traffic;
  /** Everything with a proxy, by name. */
  pods(): readonly Workload[];
  /** All Pods anew, one after the other, as a rolling restart does it: the servers, then the client. */
  roll(plane: PlaneAddress): Promise<void>;
  close(): Promise<void>;
}

export interface FleetOptions {
  readonly client: KubeClient;
  readonly network: TrafficNetwork;
  readonly plane: PlaneAddress;
  /** Programs of the agents, taken in turn. */
  readonly agents: readonly AgentProgram[];
}

interface Server {
  readonly pod: Workload;
  stopApp(): void;
}

export async function createFleet({ client, network, plane, agents }: FleetOptions): Promise<Fleet> {
  let made = 0;
  const start = (app: string, at: PlaneAddress): Promise<Workload> => {
    const agent = agents[made % agents.length] ?? fairleadAgent;
    return startWorkload({ name: `${app}-${++made}`, app, client, network, plane: at, agent });
  };
  for (const name of ["web", "client"])
    await put(client, kubeKinds.serviceAccounts, {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name, namespace: "default" },
    });
  await put(client, kubeKinds.services, service("web", { spec: { clusterIP: undefined } }));
  const target = await addressOfService(client, { name: "web", namespace: "default" }, network.serviceAddress);
  const startServer = async (at: PlaneAddress): Promise<Server> => {
    const pod = await start("web", at);
    return { pod, stopApp: await startApp(pod.path, pod.name) };
  };
  const publish = (servers: readonly Server[]): Promise<unknown> =>
    put(
      client,
      kubeKinds.endpointSlices,
      slice(
        "web",
        servers.map(({ pod }) => ({ address: pod.address, pod: pod.name })),
      ),
    );

  let servers: readonly Server[] = [await startServer(plane), await startServer(plane)];
  await publish(servers);
  let caller = await start("client", plane);
  await untilEndpoints(caller, servers);
  const traffic = createTraffic(client, target);
  await traffic.from(caller, plane.revision);

  return {
    traffic,
    pods: () => [...servers.map(({ pod }) => pod), caller],
    async roll(next) {
      for (const old of servers) {
        const fresh = await startServer(next);
        servers = [...servers.filter((server) => server !== old), fresh];
        await publish(servers);
        await untilEndpoints(caller, servers);
        await old.pod.close();
        old.stopApp();
      }
      const old = caller;
      caller = await start("client", next);
      await untilEndpoints(caller, servers);
      await traffic.from(caller, next.revision);
      await old.close();
    },
    async close() {
      await traffic.stop();
      await Promise.all([caller, ...servers.map(({ pod }) => pod)].map((pod) => pod.close()));
      for (const { stopApp } of servers) stopApp();
    },
  };
}

/** The caller's Envoy sends to these servers and no others. */
async function untilEndpoints(caller: Workload, servers: readonly Server[]): Promise<void> {
  const wanted = servers
    .map(({ pod }) => `${pod.address}:8080`)
    .sort()
    .join();
  await eventually(
    async () => {
      const stdout = await askAdmin(caller.path, "clusters");
      const found = [
        ...stdout.matchAll(
          /^outbound\|80\|\|web\.default\.svc\.cluster\.local::([\d.]+:8080)::health_flags::healthy/gm,
        ),
      ];
      return (
        found
          .map(([, address]) => address)
          .sort()
          .join() === wanted
      );
    },
    `${caller.name} to know ${wanted}`,
    240_000,
  );
}
