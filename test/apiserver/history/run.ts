/** A seed in, a history of concurrent clients on a real API that is killed and started again meanwhile out. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import { createKubeClient, type KubeClient, loadKubeconfig } from "../../../src/kube/index.ts";
import { FairleadError } from "../../../src/lib/index.ts";
import type { KubeObject } from "../../../src/model/index.ts";
import type { History, Operation, SeenEvent, Segment, Version } from "./history.ts";

const kind = { group: "", version: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true } as const;
const namespace = "default";
const keys = ["a", "b", "c", "d"];

export interface RunOptions {
  readonly seed: number;
  readonly clients?: number;
  readonly watches?: number;
  readonly operations?: number;
  readonly crashes?: number;
  /** Events kept per kind: few, so that watches fall behind. */
  readonly historyLimit?: number;
}

export async function runHistory(options: RunOptions): Promise<History> {
  const { clients = 4, watches = 3, operations = 60, crashes = 1, historyLimit = 24 } = options;
  const random = createRandom(options.seed);
  const dir = await mkdtemp(join(tmpdir(), "fairlead-history-"));
  const api = createApi(dir, historyLimit);
  const log: Operation[] = [];
  const segments: Segment[] = [];
  try {
    await api.start();
    const ended = new AbortController();
    const watchers = Array.from({ length: watches }, () => watchAlong(api, log, segments, random, ended.signal));
    const writers = Array.from({ length: clients }, (_, i) => work(api, log, random, `c${i}`, operations));
    const killing = (async () => {
      for (let i = 0; i < crashes; i++) {
        await wait(40 + random(150));
        await api.crash();
      }
    })();
    await Promise.all([...writers, killing]);
    const sentinel = await finish(api, log);
    await Promise.all(watchers.map(({ reached }) => reached(sentinel)));
    ended.abort();
    await Promise.all(watchers.map(({ done }) => done));
    return { operations: log, segments };
  } finally {
    await api.stop();
    await rm(dir, { recursive: true, force: true });
  }
}

interface Api {
  /** The client of whatever process runs now; waits while there is none. */
  client(): Promise<KubeClient>;
  start(): Promise<void>;
  crash(): Promise<void>;
  stop(): Promise<void>;
}

function createApi(dir: string, historyLimit: number): Api {
  let child: ChildProcess | undefined;
  let client: Promise<KubeClient> = Promise.reject(new Error("not started"));
  client.catch(() => {});
  const start = async (): Promise<void> => {
    const script = join(import.meta.dirname, "../../../src/apiserver/testing-child.ts");
    child = spawn(process.execPath, [script, dir, String(historyLimit)], { stdio: ["ignore", "pipe", "inherit"] });
    await once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), "line");
    client = loadKubeconfig({ paths: [join(dir, "kubeconfig")], env: {} }).then(createKubeClient);
    await client;
  };
  const kill = async (): Promise<void> => {
    const gone = child && child.exitCode === null && child.signalCode === null ? once(child, "exit") : undefined;
    child?.kill("SIGKILL");
    await gone;
    (await client.catch(() => undefined))?.close();
  };
  let starting: Promise<void> | undefined;
  return {
    async client() {
      await starting;
      return client;
    },
    start,
    async crash() {
      const again = Promise.withResolvers<void>();
      starting = again.promise;
      await kill();
      await start();
      again.resolve();
      starting = undefined;
    },
    stop: kill,
  };
}

/** Small numbers below a bound, the same for the same seed (mulberry32). */
function createRandom(seed: number): (bound: number) => number {
  let state = seed >>> 0;
  return (bound) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) % bound;
  };
}

const versionOf = (object: KubeObject): Version => ({
  key: object.metadata.name,
  version: Number(object.metadata.resourceVersion),
  op: String((object.data as Record<string, unknown> | undefined)?.op),
});
const body = (key: string, op: string): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: key, namespace },
  data: { op, padding: "x".repeat(200) },
});

/** "refused": it did not happen; "lost": nobody knows. */
async function outcome<T>(ask: Promise<T>): Promise<T | "refused" | "lost"> {
  try {
    return await ask;
  } catch (error) {
    const { code } = FairleadError.from(error);
    return ["conflict", "not-found", "already-exists", "invalid"].includes(code) ? "refused" : "lost";
  }
}

async function work(api: Api, log: Operation[], random: (bound: number) => number, name: string, count: number) {
  const last = new Map<string, KubeObject>();
  for (let i = 0; i < count; i++) {
    const key = keys[random(keys.length)] ?? "a";
    const client = await api.client();
    const [op, choice, asked] = [`${name}-${i}`, random(100), performance.now()];
    if (choice < 55) await write(client, log, { key, op, choice, asked, known: last.get(key) });
    else if (choice < 68) {
      const done = await outcome(client.delete(kind, { name: key, namespace }));
      if (done !== "refused")
        log.push({ type: "delete", key, asked, answered: answeredAt(done === "lost"), done: done !== "lost" });
    } else if (choice < 90) {
      const found = await outcome(client.find(kind, { name: key, namespace }));
      if (found === "lost" || found === "refused") continue;
      if (found) last.set(key, found);
      log.push({ type: "get", key, asked, answered: performance.now(), found: found && versionOf(found) });
    } else await list(client, log);
  }
}

const answeredAt = (lost: boolean): number => (lost ? Number.POSITIVE_INFINITY : performance.now());

interface WriteOrder {
  readonly key: string;
  readonly op: string;
  readonly choice: number;
  readonly asked: number;
  readonly known: KubeObject | undefined;
}

async function write(client: KubeClient, log: Operation[], { key, op, choice, asked, known }: WriteOrder) {
  const type = choice < 20 ? "create" : choice < 35 && known ? "update" : "patch";
  const wanted = body(key, op);
  const resourceVersion = known?.metadata.resourceVersion;
  const answer = await outcome(
    type === "create"
      ? client.create(kind, wanted)
      : type === "update"
        ? client.update(kind, {
            ...wanted,
            metadata: { ...wanted.metadata, ...(resourceVersion ? { resourceVersion } : {}) },
          })
        : client.patch(kind, wanted.metadata, "merge", { data: { op } }),
  );
  if (answer === "refused") return;
  const isLost = answer === "lost";
  log.push({
    type,
    key,
    op,
    asked,
    answered: answeredAt(isLost),
    version: isLost ? undefined : versionOf(answer).version,
    ...(type === "update" ? { expected: Number(resourceVersion) } : {}),
  });
}

async function list(client: KubeClient, log: Operation[]): Promise<Extract<Operation, { type: "list" }> | undefined> {
  const asked = performance.now();
  const answer = await outcome(client.list(kind, { namespace }));
  if (answer === "lost" || answer === "refused") return undefined;
  const seen = {
    type: "list" as const,
    asked,
    answered: performance.now(),
    version: Number(answer.resourceVersion),
    items: answer.items.map(versionOf),
  };
  log.push(seen);
  return seen;
}

/** A last write that every watch has to see, and a last list. */
async function finish(api: Api, log: Operation[]): Promise<number> {
  const client = await api.client();
  const asked = performance.now();
  const made = await client.create(kind, body("end", "end"));
  const { version } = versionOf(made);
  log.push({ type: "create", key: "end", op: "end", asked, answered: performance.now(), version });
  await list(client, log);
  return version;
}

interface Watcher {
  reached(version: number): Promise<void>;
  readonly done: Promise<void>;
}

/** Watches from a list on; goes on where it was when the stream ends; lists again when that is no longer kept. */
function watchAlong(
  api: Api,
  log: Operation[],
  segments: Segment[],
  random: (bound: number) => number,
  signal: AbortSignal,
): Watcher {
  let last = 0;
  const waiting: { readonly version: number; readonly resolve: () => void }[] = [];
  const see = (version: number): void => {
    last = Math.max(last, version);
    for (const one of waiting) if (last >= one.version) one.resolve();
  };
  const begin = async (): Promise<SeenEvent[] | undefined> => {
    const seen = await list(await api.client(), log);
    if (!seen) return undefined;
    const events: SeenEvent[] = [];
    segments.push({ start: seen.version, present: seen.items.map(({ key }) => key), events });
    see(seen.version);
    return events;
  };
  const run = async (): Promise<void> => {
    let events: SeenEvent[] | undefined;
    while (!signal.aborted) {
      events ??= await begin();
      if (!events) continue;
      const expired = await follow(await api.client(), events, last, random, signal, see);
      if (expired) events = undefined;
      await wait(random(30));
    }
  };
  return {
    reached(version) {
      if (last >= version) return Promise.resolve();
      return new Promise((resolve) => waiting.push({ version, resolve }));
    },
    done: run(),
  };
}

/** True: the version to go on from is no longer kept. Leaves by itself after some events, to come back. */
async function follow(
  client: KubeClient,
  events: SeenEvent[],
  from: number,
  random: (bound: number) => number,
  signal: AbortSignal,
  see: (version: number) => void,
): Promise<boolean> {
  const patience = 5 + random(30);
  let count = 0;
  try {
    const stop = AbortSignal.any([signal, AbortSignal.timeout(1_000)]);
    for await (const { type, object } of client.watch(kind, {
      namespace,
      resourceVersion: String(from),
      signal: stop,
    })) {
      const found = object as KubeObject;
      const isMark = type === "BOOKMARK";
      const version = isMark
        ? { key: "", version: Number(found.metadata.resourceVersion), op: undefined }
        : { ...versionOf(found), ...(type === "DELETED" ? { op: undefined } : {}) };
      events.push({ at: performance.now(), type: type as SeenEvent["type"], version });
      see(version.version);
      if (++count > patience) return false;
    }
    return false;
  } catch (error) {
    return error instanceof FairleadError && /too old|Expired/.test(error.message);
  }
}
