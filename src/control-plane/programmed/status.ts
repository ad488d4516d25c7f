/**
 * Verdicts on objects in; the condition `Programmed` on their statuses out. An object that all proxies take at once costs
 * one write; while some are awaited it is written rarely. Objects that nobody has changed are looked at when all rests: a
 * fleet that connects would change the verdict on each of them with every proxy. Only the leader does it, and it is no
 * change of any config.
 */
import type { Collection } from "../../collections/index.ts";
import type { KindRef, KubeClient } from "../../kube/index.ts";
import { FairleadError, type Logger, type QueueMeter, readRecord } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";
import { runKeyedWork, statusWritesPerSecond } from "../controllers/keyed-work.ts";
import { mergePatch } from "../controllers/merge-patch.ts";
import { createLooksSoon } from "../looks-soon.ts";
import { type CalmTimes, createCalm } from "./calm.ts";
import { tellsNobody, tellsProgrammed, withCondition } from "./condition.ts";
import type { ObjectVerdict, Programmed } from "./programmed.ts";
import { type Said, sayVerdict } from "./say.ts";

export interface ProgrammedStatusOptions {
  readonly client: KubeClient;
  /** How many control planes there are; each knows its own proxies only. */
  readonly replicas: () => number;
  /** By the names of the kinds that have the condition. */
  readonly kinds: ReadonlyMap<string, { readonly ref: KindRef; readonly objects: Collection<KubeObject> }>;
  readonly programmed: Pick<Programmed, "of" | "moves" | "subscribe">;
  /** Objects that proxies refuse something of, as `Kind/namespace/name`. */
  readonly refusals: { byObject(): Promise<{ keys(): Iterable<string> }>; subscribe(listener: () => void): () => void };
  readonly now: () => Date;
  readonly random: () => number;
  readonly log: Logger;
  readonly meter?: QueueMeter;
  readonly signal: AbortSignal;
  readonly times?: Partial<StatusTimes>;
}

interface StatusTimes extends CalmTimes {
  /** How often it is looked whether proxies have answered. */
  readonly lookMs: number;
  /** The longest pause between two looks at an object that does not move. */
  readonly maxLookMs: number;
  /** How long proxies may be awaited before that is written, and until it is written again. */
  readonly pendingMs: number;
}

const usual: StatusTimes = { lookMs: 200, maxLookMs: 10_000, pendingMs: 5_000, restMs: 2_000, patienceMs: 60_000 };
/** So many objects that nobody has changed are looked at in any case; */
const handful = 10;
/** and of more so many at a time: whoever changes something then waits for no more than a second of writes. */
const batch = statusWritesPerSecond;

/** An object that is not known to be everywhere. */
interface Open {
  /** Somebody may wait for it, or there are few. */
  readonly isUrgent: boolean;
  /** When this generation of it was opened, or written last. */
  sinceMs: number;
  readonly edition: string;
  pauseMs: number;
  nextMs: number;
  moves: string;
}

/** Of an object that is judged and then written; another one where it has changed meanwhile. */
interface Judgement {
  verdict: ObjectVerdict | undefined;
  /** It is written next. */
  isOver: boolean;
}

export function runProgrammedStatus(options: ProgrammedStatusOptions): void {
  const { client, kinds, programmed, refusals, signal } = options;
  const times = { ...usual, ...options.times };
  const { lookMs, maxLookMs, pendingMs } = times;
  const calm = createCalm(times);
  const open = new Map<string, Open>();
  const rejected = new Set<string>();
  /** Objects that reached nobody: a proxy that comes may be sent something because of them. */
  const unreached = new Set<string>();
  const denied = new Set<string>();
  /** Those that are judged and then written, with what was found as far as it was. */
  const judged = new Map<string, Judgement>();
  let timer: NodeJS.Timeout | undefined;

  const work = (id: string, turn: () => Promise<void>): Promise<void> => {
    const used = judged.get(id);
    // What could not be written is judged anew; not what was judged again meanwhile.
    return tell(id, turn, used?.verdict).finally(() => {
      if (used?.isOver && judged.get(id) === used) judged.delete(id);
    });
  };

  const tell = async (id: string, turn: () => Promise<void>, kept: ObjectVerdict | undefined): Promise<void> => {
    const [kindName, key] = split(id);
    const kind = kinds.get(kindName);
    const state = open.get(id);
    const isPending = state !== undefined && performance.now() - state.sinceMs < pendingMs;
    // What was awaited when it was judged may have come since, while others were written.
    const verdict = kept && (isPending || isSettledBy(kept)) ? kept : await judge(id);
    const object = kind?.objects.get(key);
    if (!kind || !verdict || !object || object.metadata.deletionTimestamp !== undefined) return close(id);
    // Another generation has come meanwhile: it is open, too.
    if (object.metadata.generation !== verdict.generation) return;
    const said = sayVerdict(verdict, options.replicas());
    const isSettled = isSettledBy(verdict);
    if (!isSettled && isPending) return;
    if (!(await isWritten(kind.ref, object, said, turn))) return close(id);
    if (said.reason === "RejectedByProxy") rejected.add(id);
    else rejected.delete(id);
    if (said.reason === "NoProxyAffected") unreached.add(id);
    else unreached.delete(id);
    // Not where it was changed while this was written.
    if (isSettled && open.get(id) === state) open.delete(id);
    else if (state) state.sinceMs = performance.now();
  };

  const isSettledBy = (verdict: ObjectVerdict): boolean => {
    const { isDone, reason } = sayVerdict(verdict, options.replicas());
    return isDone || (reason === "RejectedByProxy" && verdict.waiting.length === 0);
  };

  const judge = async (id: string): Promise<ObjectVerdict | undefined> => {
    const [kind, key] = split(id);
    return kinds.has(kind) ? programmed.of(kind, key) : undefined;
  };

  /** All before the first is written: a write is a change, after which all proxies are looked at anew. */
  const judgeAll = async (ids: readonly string[]): Promise<void> => {
    const beganMs = performance.now();
    const judgements = ids.map((id): readonly [string, Judgement] => [id, { verdict: undefined, isOver: false }]);
    for (const [id, judgement] of judgements) judged.set(id, judgement);
    for (const [id, judgement] of judgements) {
      // What cannot be judged is tried again, and told of, by whoever writes it.
      judgement.verdict = await judge(id).catch(() => undefined);
      judgement.isOver = true;
    }
    calm.spent(performance.now() - beganMs, performance.now());
    for (const id of ids) queue.due(id);
  };

  /** Rights are those of an installation: where istiod's own are in force, only some kinds' statuses may be written. */
  const isWritten = async (...args: Parameters<typeof write>): Promise<boolean> => {
    const [{ kind, plural, group }] = args;
    if (denied.has(kind)) return false;
    try {
      await write(...args);
      return true;
    } catch (error) {
      if (FairleadError.from(error).code !== "forbidden") throw error;
      denied.add(kind);
      options.log.warn(
        `${kind} has no condition Programmed: ${plural}/status of ${group} may not be written; PILOT_ENABLE_STATUS=false asks for none`,
      );
      return false;
    }
  };

  const write = async (ref: KindRef, object: KubeObject, said: Said, turn: () => Promise<void>): Promise<void> => {
    const { name, namespace, resourceVersion, generation } = object.metadata;
    const current = readRecord(object.status);
    const time = options
      .now()
      .toISOString()
      .replace(/\.\d+Z$/, "Z");
    const status = mergePatch(current, withCondition(current, said, generation, time));
    if (Object.keys(status).length === 0) return;
    await turn();
    await client.patch(
      ref,
      { name, namespace },
      "merge",
      { metadata: { resourceVersion }, status },
      {
        subresource: "status",
        signal,
      },
    );
  };
  const queue = runKeyedWork({ ...options, name: "status of", perSecond: statusWritesPerSecond, work });

  const close = (id: string): void => {
    open.delete(id);
    rejected.delete(id);
    unreached.delete(id);
  };
  const begin = (id: string, isChanged: boolean): void => {
    const [kind, key] = split(id);
    if (!kinds.has(kind) || denied.has(kind) || (!isChanged && open.has(id))) return;
    const nowMs = performance.now();
    judged.delete(id);
    const { uid, generation } = kinds.get(kind)?.objects.get(key)?.metadata ?? {};
    const edition = `${uid} ${generation}`;
    const known = open.get(id);
    open.set(id, {
      isUrgent: isChanged || open.size < handful,
      // A proxy that refuses it again and again must not put off that others are awaited.
      sinceMs: known?.edition === edition ? known.sinceMs : nowMs,
      edition,
      pauseMs: lookMs,
      nextMs: nowMs + lookMs,
      moves: "",
    });
    timer ??= setInterval(look, lookMs).unref();
  };
  const look = (): void => {
    const { moves } = programmed;
    const nowMs = performance.now();
    const [urgent, others]: [string[], string[]] = [[], []];
    const isFree = judged.size === 0;
    for (const [id, state] of open) {
      // At first also where nothing has moved: what a proxy may be about to ask for is awaited for a moment.
      const isFresh = state.pauseMs < pendingMs;
      if (nowMs < state.nextMs || (state.moves === moves && !isFresh) || judged.has(id)) continue;
      const mayBegin = state.isUrgent || (calm.mayBegin(moves, state.sinceMs, nowMs) && isFree);
      if (!mayBegin || (!state.isUrgent && others.length >= batch)) continue;
      state.pauseMs = Math.min(maxLookMs, state.pauseMs * 2);
      state.nextMs = nowMs + state.pauseMs;
      state.moves = moves;
      (state.isUrgent ? urgent : others).push(id);
    }
    if (urgent.length > 0) void judgeAll(urgent);
    if (others.length > 0) void judgeAll(others);
    if (open.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };

  const refusalLooks = createLooksSoon({
    waitMs: lookMs,
    async look() {
      const refused = await refusals.byObject();
      // Also those that were refused, and may be no longer.
      if (!signal.aborted) for (const id of [...refused.keys(), ...rejected]) begin(id, true);
    },
    onFault: (error) => options.log.error(`looking at refusals: ${FairleadError.from(error).message}`),
  });

  let seen = programmed.moves;
  const again = setInterval(() => {
    const { moves } = programmed;
    if (moves === seen) return;
    seen = moves;
    for (const id of unreached) begin(id, false);
  }, maxLookMs).unref();

  const stops = [
    () => clearInterval(again),
    programmed.subscribe((id) => begin(id, true)),
    refusalLooks.stop,
    refusals.subscribe(refusalLooks.signal),
  ];
  const end = (): void => {
    clearInterval(timer);
    for (const stop of stops) stop();
  };
  signal.addEventListener("abort", end, { once: true });
  for (const [kind, { objects }] of kinds)
    for (const key of objects.keys()) {
      const object = objects.get(key);
      const status = readRecord(object?.status);
      if (!object) continue;
      if (tellsNobody(status)) unreached.add(`${kind}/${key}`);
      if (!tellsProgrammed(status, object.metadata.generation)) begin(`${kind}/${key}`, false);
    }
}

function split(id: string): readonly [kind: string, key: string] {
  const at = id.indexOf("/");
  return [id.slice(0, at), id.slice(at + 1)];
}
