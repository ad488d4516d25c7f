import { join } from "node:path";
import { expect, test } from "vitest";
import { createKubeClient, loadKubeconfig } from "../../kube/index.ts";
import { createLogger, readList, readRecord, silentLogger } from "../../lib/index.ts";
import { startControlledApi } from "../controllers/testing.ts";
import { watchedKind } from "../watched-kinds.ts";
import type { ObjectVerdict } from "./programmed.ts";
import { type ProgrammedStatusOptions, runProgrammedStatus } from "./status.ts";

test("a kind whose statuses may not be written is told of once, and left alone", async () => {
  const world = await startControlledApi();
  const file = join(world.api.dir, "nobody");
  await world.api.server.writeKubeconfig(file, { user: "nobody" });
  const client = createKubeClient(await loadKubeconfig({ paths: [file], env: {} }));
  const told: string[] = [];
  const warned = Promise.withResolvers<void>();
  const asked: string[] = [];
  const objects = world.objects("networking.istio.io", "VirtualService");
  try {
    for (const name of ["a", "b", "c"])
      await world.create({
        apiVersion: "networking.istio.io/v1",
        kind: "VirtualService",
        metadata: { name, namespace: "default" },
        spec: { hosts: [name], http: [{ directResponse: { status: 200 } }] },
      });
    await world.until("networking.istio.io", "VirtualService", "default/c", (one) => one !== undefined);
    const begun: ((id: string) => void)[] = [];
    runProgrammedStatus({
      client,
      kinds: new Map([["VirtualService", { ref: watchedKind("networking.istio.io", "VirtualService"), objects }]]),
      replicas: () => 1,
      programmed: {
        async of(_kind, key) {
          asked.push(key);
          const { generation } = objects.get(key)?.metadata ?? {};
          return { generation, isMade: true, affected: 1, acknowledged: 1, refusing: [], waiting: [] };
        },
        moves: "",
        subscribe(listener) {
          begun.push(listener);
          return () => {};
        },
      },
      refusals: { byObject: async () => new Map<string, never>(), subscribe: () => () => {} },
      now: () => new Date(0),
      random: () => 0.5,
      log: createLogger({
        now: () => new Date(0),
        write(line) {
          told.push(line);
          warned.resolve();
        },
      }),
      signal: world.stop.signal,
      times: { lookMs: 10, restMs: 0 },
    });
    await warned.promise;
    await expect.poll(() => new Set(asked).size).toBe(3);
    expect(told).toHaveLength(1);
    expect(told[0]).toContain("virtualservices/status of networking.istio.io may not be written");
    const before = asked.length;
    for (const begin of begun) begin("VirtualService/default/a");
    expect(asked).toHaveLength(before);
  } finally {
    client.close();
    await world.close();
  }
});

test("while proxies come, of many objects only a few and what somebody has changed are looked at", async () => {
  const world = await startControlledApi();
  const [group, kind] = ["networking.istio.io", "VirtualService"];
  const objects = world.objects(group, kind);
  const asked = new Map<string, number>();
  const names = [..."abcdefghijklmno"];
  let [isMoving, moves] = [true, 0];
  let tell = (_id: string): void => {};
  try {
    for (const name of names)
      await world.create({
        apiVersion: "networking.istio.io/v1",
        kind,
        metadata: { name, namespace: "default" },
        spec: { hosts: [name], http: [{ directResponse: { status: 200 } }] },
      });
    await world.until(group, kind, "default/o", (one) => one !== undefined);
    runProgrammedStatus({
      client: world.client,
      kinds: new Map([[kind, { ref: watchedKind(group, kind), objects }]]),
      replicas: () => 1,
      programmed: {
        async of(_kind, key) {
          asked.set(key, (asked.get(key) ?? 0) + 1);
          const { generation } = objects.get(key)?.metadata ?? {};
          return { generation, isMade: true, affected: 2, acknowledged: 1, refusing: [], waiting: ["p.default"] };
        },
        get moves() {
          return `${isMoving ? moves++ : moves}`;
        },
        subscribe(listener) {
          tell = listener;
          return () => {};
        },
      },
      refusals: { byObject: async () => new Map<string, never>(), subscribe: () => () => {} },
      now: () => new Date(0),
      random: () => 0.5,
      log: silentLogger,
      signal: world.stop.signal,
      times: { lookMs: 5, maxLookMs: 10, restMs: 1 },
    });
    tell(`${kind}/default/o`);
    await expect.poll(() => asked.get("default/o")).toBeGreaterThan(5);
    expect(asked.size).toBeLessThanOrEqual(11);
    isMoving = false;
    await expect.poll(() => asked.size).toBe(names.length);
  } finally {
    await world.close();
  }
});

test("objects are judged together, before the first of them is written", async () => {
  const world = await startControlledApi();
  const [group, kind] = ["networking.istio.io", "VirtualService"];
  const objects = world.objects(group, kind);
  const names = [..."abcdefghijklmnopqrstuvwxyz"];
  const acts: string[] = [];
  try {
    for (const name of names)
      await world.create({
        apiVersion: "networking.istio.io/v1",
        kind,
        metadata: { name, namespace: "default" },
        spec: { hosts: [name], http: [{ directResponse: { status: 200 } }] },
      });
    await world.until(group, kind, "default/z", (one) => one !== undefined);
    runProgrammedStatus({
      client: {
        ...world.client,
        patch(...args) {
          acts.push("write");
          return world.client.patch(...args);
        },
      },
      kinds: new Map([[kind, { ref: watchedKind(group, kind), objects }]]),
      replicas: () => 1,
      programmed: {
        async of(_kind, key) {
          acts.push("judge");
          const { generation } = objects.get(key)?.metadata ?? {};
          return { generation, isMade: true, affected: 1, acknowledged: 1, refusing: [], waiting: [] };
        },
        moves: "",
        subscribe: () => () => {},
      },
      refusals: { byObject: async () => new Map<string, never>(), subscribe: () => () => {} },
      now: () => new Date(0),
      random: () => 0.5,
      log: silentLogger,
      signal: world.stop.signal,
      times: { lookMs: 10, restMs: 0 },
    });
    await expect.poll(() => acts.filter((act) => act === "write").length).toBe(names.length);
    // The first ten are looked at in any case, apart from the others.
    const judgements = acts.filter((act) => act === "judge").length;
    const turns = acts.filter((act, i) => act === "judge" && acts[i - 1] !== "judge").length;
    expect(judgements).toBe(names.length);
    expect(turns).toBeLessThanOrEqual(3);
  } finally {
    await world.close();
  }
});

test.for(["the same leader", "the next leader"])("what reached nobody is looked at again by %s", async (leader) => {
  const world = await startControlledApi();
  const [group, kind] = ["networking.istio.io", "VirtualService"];
  const objects = world.objects(group, kind);
  let proxies = 0;
  const run = (signal: AbortSignal): void => {
    const options: ProgrammedStatusOptions = {
      client: world.client,
      kinds: new Map([[kind, { ref: watchedKind(group, kind), objects }]]),
      replicas: () => 1,
      programmed: {
        async of(_kind, key) {
          const { generation } = objects.get(key)?.metadata ?? {};
          return { generation, isMade: true, affected: proxies, acknowledged: proxies, refusing: [], waiting: [] };
        },
        get moves() {
          return `${proxies}`;
        },
        subscribe: () => () => {},
      },
      refusals: { byObject: async () => new Map<string, never>(), subscribe: () => () => {} },
      now: () => new Date(0),
      random: () => 0.5,
      log: silentLogger,
      signal,
      times: { lookMs: 10, maxLookMs: 20, restMs: 0 },
    };
    runProgrammedStatus(options);
  };
  const says = (reason: string, start: string): Promise<unknown> =>
    world.until(group, kind, "default/a", (one) =>
      readList(readRecord(one?.status).conditions)
        .map(readRecord)
        .some((condition) => condition.reason === reason && String(condition.message).startsWith(start)),
    );
  try {
    await world.create({
      apiVersion: "networking.istio.io/v1",
      kind,
      metadata: { name: "a", namespace: "default" },
      spec: { hosts: ["a"], http: [{ directResponse: { status: 200 } }] },
    });
    await world.until(group, kind, "default/a", (one) => one !== undefined);
    const first = new AbortController();
    run(first.signal);
    await says("NoProxyAffected", "0/0");
    if (leader === "the next leader") {
      first.abort();
      run(world.stop.signal);
    }
    proxies = 2;
    await says("Programmed", "2/2");
    first.abort();
  } finally {
    await world.close();
  }
});

test("refusals that come one after the other are looked at together", async () => {
  const world = await startControlledApi();
  const [group, kind] = ["networking.istio.io", "VirtualService"];
  const objects = world.objects(group, kind);
  let [looks, judged] = [0, 0];
  let refuse = (): void => {};
  try {
    await world.create({
      apiVersion: "networking.istio.io/v1",
      kind,
      metadata: { name: "a", namespace: "default" },
      spec: { hosts: ["a"], http: [{ directResponse: { status: 200 } }] },
    });
    await world.until(group, kind, "default/a", (one) => one !== undefined);
    runProgrammedStatus({
      client: world.client,
      kinds: new Map([[kind, { ref: watchedKind(group, kind), objects }]]),
      replicas: () => 1,
      programmed: {
        async of(_kind, key) {
          judged++;
          const { generation } = objects.get(key)?.metadata ?? {};
          return { generation, isMade: true, affected: 1, acknowledged: 1, refusing: [], waiting: [] };
        },
        moves: "",
        subscribe: () => () => {},
      },
      refusals: {
        async byObject() {
          looks++;
          return new Map([[`${kind}/default/a`, []]]);
        },
        subscribe(listener) {
          refuse = listener;
          return () => {};
        },
      },
      now: () => new Date(0),
      random: () => 0.5,
      log: silentLogger,
      signal: world.stop.signal,
      times: { lookMs: 5 },
    });
    await expect.poll(() => judged).toBe(1);
    for (let i = 0; i < 1000; i++) refuse();
    // Once more where the first status is still being written.
    await expect.poll(() => judged).toBeGreaterThan(1);
    expect(looks).toBe(1);
  } finally {
    await world.close();
  }
});

/** One VirtualService, with the control plane that says who has it. */
async function startOne(
  programmed: { of(): Partial<ObjectVerdict> },
  options: Partial<Pick<ProgrammedStatusOptions, "refusals" | "times">> & {
    readonly beforeWrite?: () => Promise<void>;
  },
) {
  const world = await startControlledApi();
  const [group, kind] = ["networking.istio.io", "VirtualService"];
  const objects = world.objects(group, kind);
  const writes: unknown[] = [];
  let tell = (_id: string): void => {};
  await world.create({
    apiVersion: "networking.istio.io/v1",
    kind,
    metadata: { name: "a", namespace: "default" },
    spec: { hosts: ["a"], http: [{ directResponse: { status: 200 } }] },
  });
  await world.until(group, kind, "default/a", (one) => one !== undefined);
  runProgrammedStatus({
    client: {
      ...world.client,
      async patch(...args) {
        await options.beforeWrite?.();
        writes.push(args);
        const written = await world.client.patch(...args);
        // Another write before its change has come would be a conflict.
        await world.until(group, kind, "default/a", (now) => now?.status !== undefined);
        return written;
      },
    },
    kinds: new Map([[kind, { ref: watchedKind(group, kind), objects }]]),
    replicas: () => 1,
    programmed: {
      async of(_kind, key) {
        const { generation } = objects.get(key)?.metadata ?? {};
        const rest = programmed.of();
        return { generation, isMade: true, affected: 1, acknowledged: 1, refusing: [], waiting: [], ...rest };
      },
      moves: "",
      subscribe(listener) {
        tell = listener;
        return () => {};
      },
    },
    refusals: options.refusals ?? { byObject: async () => new Map<string, never>(), subscribe: () => () => {} },
    now: () => new Date(0),
    random: () => 0.5,
    log: silentLogger,
    signal: world.stop.signal,
    times: options.times ?? {},
  });
  return { writes, change: () => tell(`${kind}/default/a`), close: world.close };
}

test("a proxy that refuses again and again does not put off that another is awaited", async () => {
  let refuse = (): void => {};
  const one = await startOne(
    {
      of: () => ({ affected: 2, acknowledged: 0, refusing: [{ proxy: "a", part: "l", words: "no" }], waiting: ["b"] }),
    },
    {
      refusals: {
        byObject: async () => new Map([["VirtualService/default/a", []]]),
        subscribe(listener) {
          refuse = listener;
          return () => {};
        },
      },
      times: { lookMs: 5, pendingMs: 300 },
    },
  );
  const refusing = setInterval(() => refuse(), 10);
  try {
    await expect.poll(() => one.writes.length, { timeout: 3_000 }).toBe(1);
  } finally {
    clearInterval(refusing);
    await one.close();
  }
});

test("what is judged again while it is being written is not judged a third time", async () => {
  let judged = 0;
  const writing = Promise.withResolvers<void>();
  const again = Promise.withResolvers<void>();
  const one = await startOne(
    {
      of() {
        judged++;
        return {};
      },
    },
    {
      beforeWrite() {
        writing.resolve();
        return again.promise;
      },
      times: { lookMs: 5, restMs: 0 },
    },
  );
  try {
    await writing.promise;
    one.change();
    await expect.poll(() => judged).toBe(2);
    again.resolve();
    await expect.poll(() => one.writes.length).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(judged).toBe(2);
  } finally {
    await one.close();
  }
});
