/** One contract for every lock, on the embedded API or a given cluster: one leads, takeovers, and never two who write. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  createConfigMapLock,
  createLeaseLock,
  type ElectionOptions,
  fencedClient,
  type KubeClient,
  kubeKinds,
  type LeaderElection,
  type Lock,
  runLeaderElection,
} from "../../src/kube/index.ts";
import { silentLogger } from "../../src/lib/index.ts";
import { type Cluster, openCluster } from "../cluster/cluster.ts";
import { createRandom } from "../random.ts";

let cluster: Cluster;
let client: KubeClient;
let namespace = "";
beforeAll(async () => {
  cluster = await openCluster();
  client = cluster.admin;
  namespace = await cluster.namespace();
});
afterAll(() => cluster.close());

interface Candidate {
  readonly election: LeaderElection;
  readonly led: Promise<AbortSignal>;
  readonly stop: AbortController;
}

function run(lock: Lock, identity: string, more: Partial<ElectionOptions> = {}): Candidate {
  const stop = new AbortController();
  const led = Promise.withResolvers<AbortSignal>();
  const election = runLeaderElection({
    lock,
    identity,
    now: () => new Date(),
    monotonicMs: () => performance.now(),
    log: silentLogger,
    durationMs: 2000,
    renewMs: 50,
    signal: stop.signal,
    lead: led.resolve,
    ...more,
  });
  return { election, led: led.promise, stop };
}

/** A lock whose owner can be cut off from the API, as by a kill or a partition, or stopped for a while, as by a signal. */
function cuttable(lock: Lock): Lock & { cut: boolean; paused: Promise<void> | undefined; readonly blocked: boolean } {
  const through = async <T>(work: () => Promise<T>): Promise<T> => {
    state.blocked = state.paused !== undefined;
    await state.paused;
    state.blocked = false;
    if (state.cut) throw new Error("cut off");
    return await work();
  };
  const state = {
    cut: false,
    paused: undefined as Promise<void> | undefined,
    blocked: false,
    name: lock.name,
    read: (signal?: AbortSignal) => through(() => lock.read(signal)),
    write: (...args: Parameters<Lock["write"]>) => through(() => lock.write(...args)),
  };
  return state;
}

const locks = [
  ["Lease", createLeaseLock],
  ["ConfigMap", createConfigMapLock],
] as const;

describe.each(locks)("%s", (kind, create) => {
  const lockOf = (name: string): Lock => create({ client, namespace, name });

  test("one leads; when it ends, the next does at once", async () => {
    const one = run(lockOf("next"), "one");
    const term = await one.led;
    const two = run(lockOf("next"), "two");
    one.stop.abort();
    await two.led;
    expect(term.aborted).toBe(true);
    expect([one.election.leading, two.election.leading]).toEqual([false, true]);
    expect((await lockOf("next").read()).record).toMatchObject({ holder: "two", transitions: 1 });
    two.stop.abort();
    await Promise.all([one.election.done, two.election.done]);
  });

  test("the default revision takes the lock from another, and nobody takes it back", async () => {
    const canary = run(lockOf("steal"), "canary", { key: "canary", mayTakeFrom: () => false });
    const term = await canary.led;
    const stable = run(lockOf("steal"), "stable", { key: "stable", mayTakeFrom: (key) => key !== "stable" });
    await stable.led;
    await new Promise((resolve) => (term.aborted ? resolve(0) : term.addEventListener("abort", resolve)));
    expect((await lockOf("steal").read()).record).toMatchObject({ holder: "stable", key: "stable" });
    for (const one of [canary, stable]) one.stop.abort();
    await Promise.all([canary.election.done, stable.election.done]);
  });

  test("who starts again under its own name goes on at once", async () => {
    const lock = cuttable(lockOf("again"));
    const first = run(lock, "pod", { durationMs: 600_000 });
    await first.led;
    lock.cut = true;
    first.stop.abort();
    const second = run(lockOf("again"), "pod", { durationMs: 600_000 });
    await second.led;
    second.stop.abort();
    await Promise.all([first.election.done, second.election.done]);
  });

  test("D09: a lock that is lost under its leader ends the term, and is not taken by who has seen it held", async () => {
    const refKind = kind === "Lease" ? kubeKinds.leases : kubeKinds.configMaps;
    const durationMs = 600_000;
    const [own, others] = [cuttable(lockOf("lost")), lockOf("lost")];
    const one = run(own, "one", { durationMs });
    const term = await one.led;
    const reads = { held: 0, missing: 0 };
    const counted: Lock = {
      ...others,
      async read(signal) {
        const state = await others.read(signal);
        reads[state.record === undefined ? "missing" : "held"]++;
        return state;
      },
    };
    const two = run(counted, "two", { durationMs });
    await until(() => reads.held > 0);
    // The leader does not hear of it: stopped, or far away.
    const resume = Promise.withResolvers<void>();
    own.paused = resume.promise;
    await until(() => own.blocked);
    await client.delete(refKind, { name: "lost", namespace });
    await until(() => reads.missing > 2);
    expect([one.election.leading, two.election.leading]).toEqual([true, false]);
    own.paused = undefined;
    resume.resolve();
    await until(() => term.aborted);
    for (const candidate of [one, two]) candidate.stop.abort();
    await Promise.all([one.election.done, two.election.done]);
  });

  test(
    "D09: forced changes of the leader by kill, pause and end: never do two write",
    async () => {
      const changes = Number(process.env.FAIRLEAD_ELECTIONS ?? 6);
      const seed = Number(process.env.FAIRLEAD_SEED ?? Date.now() % 1_000_000);
      const random = createRandom(seed);
      const ref = { name: `writer-${kind.toLowerCase()}`, namespace };
      await client.create(kubeKinds.configMaps, { apiVersion: "v1", kind: "ConfigMap", metadata: ref, data: {} });
      const lock = lockOf("forced");
      const overlaps: string[] = [];
      const takeoversMs: number[] = [];
      const counts = new Map<string, number>();
      let writing: string | undefined;
      let serial = 0;
      const start = () => {
        const own = cuttable(lock);
        const identity = `replica-${serial++}`;
        const candidate = run(own, identity, { durationMs: 300, renewMs: 20 });
        const fenced = fencedClient(client, candidate.election);
        const work = async (signal: AbortSignal): Promise<void> => {
          while (!signal.aborted || own.paused) {
            await own.paused;
            const written = await fenced
              .patch(kubeKinds.configMaps, ref, "merge", { data: { writer: identity } })
              .catch(() => undefined);
            if (!written) return;
            // A writer who comes back after another has written had not stopped in time.
            if (writing !== undefined && writing !== identity && retired.has(identity))
              overlaps.push(`${identity} after ${writing}`);
            if (writing !== undefined && writing !== identity) retired.add(writing);
            writing = identity;
          }
        };
        void candidate.led.then(work);
        return { ...candidate, own, identity };
      };
      const retired = new Set<string>();
      let running = [start(), start(), start()];
      for (let change = 0; change < changes; change++) {
        const leader = await Promise.race(running.map(async (one) => one.led.then(() => one)));
        await until(() => writing !== undefined && leader.election.leading);
        const how = random.pick(["kill", "pause", "end"] as const);
        const resume = Promise.withResolvers<void>();
        if (how === "kill") leader.own.cut = true;
        else if (how === "pause") leader.own.paused = resume.promise;
        else leader.stop.abort();
        running = [...running.filter((one) => one !== leader), start()];
        const started = performance.now();
        const next = await Promise.race(running.map(async (one) => one.led.then(() => one)));
        if (how !== "end") takeoversMs.push(performance.now() - started);
        // It wakes up while another leads, and must not write.
        await until(() => retired.has(leader.identity) || next.election.leading);
        leader.own.paused = undefined;
        resume.resolve();
        counts.set(how, (counts.get(how) ?? 0) + 1);
        leader.stop.abort();
      }
      for (const one of running) one.stop.abort();
      expect(overlaps, `seed ${seed}`).toEqual([]);
      expect(retired.size).toBeGreaterThan(0);
      if (process.env.FAIRLEAD_ELECTIONS) {
        const sorted = takeoversMs.toSorted((a, b) => a - b);
        const told = `median ${sorted[sorted.length >> 1]?.toFixed(0)} ms, longest ${sorted.at(-1)?.toFixed(0)} ms`;
        process.stdout.write(
          `${kind}: ${JSON.stringify(Object.fromEntries(counts))}, takeover ${told} (lease 300 ms)\n`,
        );
      }
    },
    300_000 + 10_000 * Number(process.env.FAIRLEAD_ELECTIONS ?? 0),
  );
});

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}
