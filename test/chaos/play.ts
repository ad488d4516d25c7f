/** A mesh and faults in; what came of playing them at the same time out. */
import { join } from "node:path";
import { wait } from "../../src/lib/index.ts";
import type { Random } from "../random.ts";
import { unlessStopped } from "../stop.ts";
import { type Cause, findCauses } from "./causes.ts";
import { type PodStates, podStates, type WrongContainer, wrongContainers } from "./containers.ts";
import {
  type Course,
  type Fault,
  isTouchedBy,
  type Kill,
  type Stage,
  signalAll,
  startsWithinMs,
} from "./faults/fault.ts";
import type { ChaosMesh, ChaosPod } from "./mesh.ts";
import { setChurned, setGeneration } from "./objects.ts";

export interface Outcome {
  readonly fault: string;
  readonly seconds: number;
  readonly requests: number;
  /** Under way on what was killed: counted, and named apart. */
  readonly inFlight: number;
  /** All others that failed. */
  readonly failed: number;
  /** How many of these are part of the fault. */
  readonly allowed: number;
  readonly causes: Readonly<Record<string, number>>;
  /** How long after a kill the last of them began. */
  readonly lastMs: number;
  /** From the end of the fault until the mesh was whole and took a change. */
  readonly healMs: number;
  /** What was missing last. */
  readonly waitedFor: string;
  readonly slowestMs: number;
  /** What else was seen, in words. */
  readonly seen: readonly string[];
  /** Why it is not as expected; empty where it is. */
  readonly wrong: readonly string[];
}

/** Access logs are written out every so often. */
const logFlushMs = 11_000;

export async function play(
  mesh: ChaosMesh,
  faults: readonly Fault[],
  random: Random,
  stop?: AbortSignal,
): Promise<Outcome> {
  const [kills, wrong, seen]: [Kill[], string[], string[]] = [[], [], []];
  await mesh.repair();
  const stage = await stageOf(mesh, random, kills);
  await setChurned(mesh.api, await mesh.spareAddresses());
  const before = await podStates(mesh.api);
  await wait(500);
  await mesh.load.drain();
  const started = performance.now();
  const attempt = async (work: () => Promise<void> | void): Promise<void> => {
    try {
      await work();
    } catch (error) {
      wrong.push(error instanceof Error ? error.message : String(error));
    }
  };
  const courses: Course[] = [];
  // At the same time, and each for as long as it says: some take long to be done.
  const inject = async (fault: Fault): Promise<void> => {
    const others = faults.filter((other) => other !== fault);
    const course = await fault.inject({
      ...stage,
      isTouched: (...parts) => isTouchedBy(others, parts),
      tell: (text) => void seen.push(text),
    });
    courses.push(course);
    await wait(fault.holdMs, stop).catch(() => {});
    await course.end?.();
  };
  await Promise.all(faults.map((fault) => attempt(() => inject(fault))));
  const healing = performance.now();
  stop?.throwIfAborted();
  const healed = await unlessStopped(untilHealed(mesh, healing), stop);
  for (const { verify } of courses) if (verify) await attempt(verify);
  await attempt(() => unlessStopped(untilStartedAgain(mesh, before, kills), stop));
  // What was sent before it was whole is still to be answered.
  await wait(1_000);
  const seconds = (performance.now() - started) / 1000;
  const { requests, slowestMs, failures } = await mesh.load.drain();
  if (failures.length > 0) await wait(logFlushMs);
  const causes = findCauses(failures, kills, join(mesh.data, "logs/default"));
  const others = causes.filter(({ inFlight }) => !inFlight);
  const allowed = others.filter((cause) => faults.some((fault) => isAllowed(fault, faults, cause)));
  return {
    fault: faults.map(({ name }) => name).join(" + "),
    seconds,
    requests,
    inFlight: causes.length - others.length,
    failed: others.length,
    allowed: allowed.length,
    causes: countCauses(causes),
    lastMs: Math.max(0, ...others.map(({ afterMs }) => afterMs)),
    ...{ healMs: healed.ms, waitedFor: healed.waitedFor, slowestMs, seen },
    wrong: [
      ...wrong,
      ...healed.missing,
      ...(others.length > allowed.length ? [`${others.length - allowed.length} requests failed`] : []),
      ...(requests === 0 ? ["no request was made"] : []),
    ],
  };
}

function isAllowed(fault: Fault, together: readonly Fault[], { text, afterMs }: Cause): boolean {
  const { allows, allowedMs = Number.POSITIVE_INFINITY, allowedLonger = [] } = fault;
  const others = together.filter((other) => other !== fault);
  return allows?.test(text) === true && (afterMs <= allowedMs || isTouchedBy(others, allowedLonger));
}

/** A Pod without its agent is ready: that the next one is there is seen by its count alone. */
async function untilStartedAgain(mesh: ChaosMesh, before: PodStates, kills: readonly Kill[]): Promise<void> {
  const look = async (): Promise<readonly WrongContainer[]> =>
    wrongContainers(before, await podStates(mesh.api), kills);
  const deadline = performance.now() + startsWithinMs;
  let wrong = await look();
  while (wrong.some(({ isLate }) => isLate) && performance.now() < deadline) {
    await wait(500);
    wrong = await look();
  }
  if (wrong.length > 0) throw new Error(wrong.map(({ text }) => text).join("; "));
}

/** Whom a fault may hit is known before it: the API may be away when it is injected. */
async function stageOf(mesh: ChaosMesh, random: Random, kills: Kill[]): Promise<Omit<Stage, "isTouched" | "tell">> {
  const pods = new Map((await Promise.all([...mesh.workloads.keys()].map(mesh.pod))).map((pod) => [pod.name, pod]));
  const free = new Set(mesh.servers);
  const podOf = (name: string): ChaosPod => {
    const pod = pods.get(name);
    if (!pod) throw new Error(`there is no Pod ${name}`);
    return pod;
  };
  return {
    mesh,
    random,
    server() {
      const name = random.pick([...free]);
      free.delete(name);
      return podOf(name);
    },
    pod: podOf,
    kill(what, pids, { pod, container, replaces } = {}) {
      const from = Date.now();
      signalAll(pids, "SIGKILL");
      kills.push({ ...{ what, pod, container, replaces }, from, until: Date.now() });
    },
  };
}

let generation = 0;

/** How long it took is told; this long it takes on no machine, however busy, that heals at all. */
const healLimitMs = 180_000;

/** Whole again, and a change made now reaches the client. */
async function untilHealed(
  mesh: ChaosMesh,
  started: number,
): Promise<{ ms: number; waitedFor: string; missing: readonly string[] }> {
  const wanted = `g${++generation}`;
  let missing: readonly string[] = ["nothing was looked at"];
  let [changed, seen, waitedFor] = [false, "", ""];
  while (performance.now() - started < healLimitMs) {
    changed ||= await setGeneration(mesh.api, wanted).then(
      () => true,
      () => false,
    );
    missing = await mesh.missing();
    seen = await mesh.load.look();
    if (missing.length === 0 && seen === wanted) break;
    waitedFor = missing.length > 0 ? missing.join("; ") : "a change to arrive";
    await wait(100);
  }
  const late = seen === wanted ? [] : [changed ? "a change did not arrive" : "a change was not taken"];
  return { ms: performance.now() - started, waitedFor, missing: [...missing, ...late] };
}

function countCauses(causes: readonly Cause[]): Readonly<Record<string, number>> {
  const counts = new Map<string, number>();
  for (const { text } of causes) counts.set(text, (counts.get(text) ?? 0) + 1);
  return Object.fromEntries([...counts].sort(([, a], [, b]) => b - a));
}
