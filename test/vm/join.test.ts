/** A machine outside Kubernetes joins with the files it was given: traffic both ways with mutual TLS, names, health, and its end. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApi, type TestApi } from "../../src/apiserver/testing.ts";
import { runCli } from "../../src/cli/testing.ts";
import { kindRef, kubeKinds, loadKubeconfig } from "../../src/kube/index.ts";
import { type KubeObject, peerAuthentication, workloadEntry, workloadGroup } from "../../src/model/index.ts";
import { service, slice } from "../render/objects.ts";
import { lacks } from "../require.ts";
import { addressOfService, put } from "../swap/objects.ts";
import { fairleadPlane } from "../swap/plane.ts";
import { fairleadAgent, startWorkload, type Workload } from "../swap/workload.ts";
import { createSwapWorld, type SwapWorld } from "../swap/world.ts";
import { startApp } from "../traffic/app.ts";
import { type Machine, startMachine } from "./machine.ts";

const soon = { timeout: 240_000, interval: 200 };
const namespace = "default";

describe.skipIf(lacks("root", "envoy", "iptables"))("a machine outside Kubernetes", () => {
  let api: TestApi;
  let world: SwapWorld;
  let pod: Workload;
  let machine: Machine;
  let stopApp = (): void => {};
  const addresses = { web: "", db: "", machine: "" };

  beforeAll(async () => {
    api = await startApi();
    world = await createSwapWorld({ access: await loadKubeconfig({ paths: [api.kubeconfig], env: {} }) });
    const cli = async (...args: readonly string[]): Promise<string> => {
      const done = await runCli(args, api.dir, 120_000, { KUBECONFIG: api.kubeconfig });
      expect(done).toMatchObject({ status: 0 });
      return done.stdout;
    };
    await cli("install", "--no-wait");
    const plane = await world.start(
      { ...fairleadPlane, env: { PILOT_WORKLOAD_ENTRY_GRACE_PERIOD: "500ms" } },
      "default",
    );
    await world.point("default", plane);
    const { client, network } = world;
    for (const name of ["web", "db"])
      await put(client, kubeKinds.serviceAccounts, {
        apiVersion: "v1",
        kind: "ServiceAccount",
        metadata: { name, namespace },
      });
    for (const name of ["web", "db"] as const) {
      await put(client, kubeKinds.services, service(name, { spec: { clusterIP: undefined } }));
      addresses[name] = await addressOfService(client, { name, namespace }, network.serviceAddress);
    }
    await put(client, kindRef(peerAuthentication), {
      apiVersion: "security.istio.io/v1",
      kind: "PeerAuthentication",
      metadata: { name: "default", namespace },
      spec: { mtls: { mode: "STRICT" } },
    });
    await put(client, kindRef(workloadGroup), group);
    const address = await world.address("default");
    pod = await startWorkload({ name: "web-1", app: "web", client, network, plane: address, agent: fairleadAgent });
    stopApp = await startApp(pod.path, "web-1");
    await put(client, kubeKinds.endpointSlices, slice("web", [{ address: pod.address, pod: "web-1" }]));
    const at = await network.pod();
    addresses.machine = at.address;
    const files = join(api.dir, "vm");
    await cli(
      ...["workload", "entry", "configure", "--name", "db", "--namespace", namespace, "--autoregister", "-o", files],
      ...["--ingressIP", address.address, "--internalIP", at.address],
    );
    machine = await startMachine({ at, network, files, name: "vm-1" });
  }, 600_000);
  afterAll(async () => {
    await machine?.close();
    stopApp();
    await pod?.close();
    await world?.close();
    await api?.close();
  });

  const entry = (): Promise<KubeObject | undefined> =>
    world.client.find(kindRef(workloadEntry), { name: `db-${addresses.machine}`, namespace });
  const ask = async (from: Pick<Workload, "caller">, to: "web" | "db"): Promise<string> => {
    const { status, body } = await from.caller.request({
      address: addresses[to],
      port: 80,
      host: `${to}.${namespace}`,
    });
    return status === 200 ? body : String(status);
  };
  const seenBy = (server: string, by: string, client: string): string =>
    `${server} By=spiffe://cluster.local/ns/${namespace}/sa/${by} URI=spiffe://cluster.local/ns/${namespace}/sa/${client}`;

  test("is called by Pods, and calls them, under its own identity", { timeout: 300_000 }, async () => {
    await expect.poll(() => ask(pod, "db"), soon).toBe(seenBy("vm-1", "db", "web"));
    await expect.poll(() => ask(machine, "web"), soon).toBe(seenBy("web-1", "web", "db"));
    expect((await entry())?.metadata.annotations?.["istio.io/autoRegistrationGroup"]).toBe("db");
  });

  test("resolves the names of the mesh, its own among them", { timeout: 300_000 }, async () => {
    await expect.poll(() => machine.resolve(`web.${namespace}.svc.cluster.local`), soon).toBe(addresses.web);
    await expect.poll(() => machine.resolve(`db.${namespace}.svc.cluster.local`), soon).toBe(addresses.db);
  });

  test("that is not healthy is not called until it is again", { timeout: 300_000 }, async () => {
    machine.stopApp();
    await expect.poll(() => ask(pod, "db"), soon).toBe("503");
    await machine.startApp();
    await expect.poll(() => ask(pod, "db"), soon).toBe(seenBy("vm-1", "db", "web"));
  });

  test("that vanishes has no entry after its grace", { timeout: 300_000 }, async () => {
    await machine.vanish();
    await expect.poll(entry, soon).toBeUndefined();
    await expect.poll(() => ask(pod, "db"), soon).toBe("503");
  });
});

const group: KubeObject = {
  apiVersion: "networking.istio.io/v1",
  kind: "WorkloadGroup",
  metadata: { name: "db", namespace },
  spec: {
    metadata: { labels: { app: "db" } },
    template: { serviceAccount: "db", ports: { http: 8080 } },
    probe: { periodSeconds: 1, failureThreshold: 1, tcpSocket: { port: 8080 } },
  },
};
