/** Pods of `fairlead run` whose runner goes silent, on the embedded API. */
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { startApi, type TestApi } from "../../src/apiserver/testing.ts";
import { createGraph } from "../../src/collections/index.ts";
import {
  createHttpSource,
  createKubeClient,
  type KubeClient,
  loadKubeconfig,
  microTime,
} from "../../src/kube/index.ts";
import { isRecord, silentLogger } from "../../src/lib/index.ts";
import { runPodLeases, standaloneKinds } from "../../src/standalone/index.ts";

const { pods, leases, runnerAnnotation } = standaloneKinds;
const ref = { name: "web", namespace: "default" };
const leaseRef = { name: "run-web", namespace: "default" };
let api: TestApi;
let client: KubeClient;
let stop: AbortController;
let clockMs = 0;
/** How much time a look at the clock takes. */
let stepMs = 0;
let looks = 0;
/** The controller's way to the API, cut. */
let isAway = false;

beforeAll(async () => {
  api = await startApi({});
  client = createKubeClient(await loadKubeconfig({ paths: [api.kubeconfig], env: {} }));
});
afterAll(async () => {
  client.close();
  await api.close();
});

beforeEach(async () => {
  const metadata = { ...ref, annotations: { [runnerAnnotation]: leaseRef.name } };
  const containers = [{ name: "app", image: "x" }];
  await client.create(pods, { apiVersion: "v1", kind: "Pod", metadata, spec: { nodeName: "localhost", containers } });
  const conditions = ["Initialized", "Ready"].map((type) => ({ type, status: "True" }));
  await client.patchStatus(pods, ref, { phase: "Running", podIP: "10.0.0.1", conditions });
  const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: leaseRef, spec: {} };
  await client.create(leases, lease);
  [stepMs, isAway] = [0, false];
  stop = new AbortController();
  const source = createHttpSource({ graph: createGraph(), client, log: silentLogger, random: Math.random });
  const watched = new Map([pods, leases].map((kind) => [kind.plural, source.watchKind(kind)]));
  stop.signal.addEventListener("abort", () => source.close());
  await Promise.all([...watched.values()].map(({ synced }) => synced));
  const objects = (kind: { plural: string }) => {
    const found = watched.get(kind.plural);
    if (!found) throw new Error(`${kind.plural} are not watched`);
    return found.objects;
  };
  const find: KubeClient["find"] = (...asked) =>
    isAway ? Promise.reject(new Error("the API is away")) : client.find(...asked);
  const context = {
    client: { ...client, find },
    objects,
    log: silentLogger,
    random: Math.random,
    now: () => new Date(),
  };
  runPodLeases({ ...context, signal: stop.signal }, look, 5);
});
afterEach(async () => {
  stop.abort();
  await client.delete(pods, ref, { gracePeriodSeconds: 0 }).catch(() => {});
  await client.delete(leases, leaseRef).catch(() => {});
});

function look(): number {
  looks++;
  clockMs += stepMs;
  return clockMs;
}

const renew = () => client.patch(leases, leaseRef, "merge", { spec: { renewTime: microTime(new Date()) } });

async function conditions(): Promise<Record<string, string> | undefined> {
  const pod = await client.find(pods, ref);
  const list = isRecord(pod?.status) && Array.isArray(pod.status.conditions) ? pod.status.conditions : [];
  return pod && Object.fromEntries(list.filter(isRecord).map(({ type, status }) => [String(type), String(status)]));
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await wait(5);
}

test("a silent runner's Pod is not ready, ready again when it speaks, and deleted in the end", async () => {
  stepMs = 150;
  await until(async () => (await conditions())?.Ready === "False");
  stepMs = 0;
  expect(await conditions()).toEqual({ Initialized: "True", Ready: "False" });
  await renew();
  await until(async () => (await conditions())?.Ready === "True");
  expect(await conditions()).toEqual({ Initialized: "True", Ready: "True" });
  stepMs = 2_000;
  await until(async () => (await conditions()) === undefined);
  // The lease goes after the Pod, in a request of its own.
  await until(async () => (await client.find(leases, leaseRef)) === undefined);
});

test("time in which we ourselves stood still is not held against anybody", async () => {
  clockMs += 3_600_000;
  await wait(50);
  clockMs += 3_600_000;
  await wait(50);
  expect(await conditions()).toEqual({ Initialized: "True", Ready: "True" });
});

test("time in which nobody could renew, because the API was away, is not held against anybody either", async () => {
  isAway = true;
  stepMs = 1_000;
  looks = 0;
  await until(async () => looks > 100);
  stepMs = 0;
  isAway = false;
  looks = 0;
  await until(async () => looks > 10);
  expect(await conditions()).toEqual({ Initialized: "True", Ready: "True" });
  stepMs = 150;
  await until(async () => (await conditions())?.Ready !== "True");
});
