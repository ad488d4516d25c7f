/**
 * A lock in the API in, "we lead" out. Another holder's term counts as over when the lock has not changed for its own
 * duration on our monotonic clock, so a wrong wall clock on either side does no harm; and we stop leading before
 * anybody else may start, also after the whole process was paused.
 */
import { FairleadError, type Logger, wait } from "../lib/index.ts";
import type { Lock, LockRecord, LockState } from "./lock.ts";

export interface ElectionOptions {
  readonly lock: Lock;
  /** Unique among all who run; the same again after a restart in the same Pod, which may then go on at once. */
  readonly identity: string;
  /** Written beside the identity; our revision. */
  readonly key?: string;
  /** Whether the lock may be taken from a holder of this key although its term is not over. */
  readonly mayTakeFrom?: (key: string) => boolean;
  readonly now: () => Date;
  /** Milliseconds that never go back. */
  readonly monotonicMs: () => number;
  readonly log: Logger;
  readonly durationMs?: number;
  readonly renewMs?: number;
  readonly signal: AbortSignal;
  /** Called when leadership starts; its signal is aborted when it ends. */
  readonly lead: (signal: AbortSignal) => void;
}

export interface LeaderElection {
  /** True only while no other may hold the lock: ask before each write. */
  readonly leading: boolean;
  readonly done: Promise<void>;
}

export function runLeaderElection(options: ElectionOptions): LeaderElection {
  const { lock, identity, key = "" } = options;
  const durationMs = options.durationMs ?? 10_000;
  const renewMs = options.renewMs ?? 2_000;
  let renewedAt: number | undefined;
  let term: AbortController | undefined;
  let expiry: NodeJS.Timeout | undefined;
  /** The lock as another holds it, and since when it has not changed. */
  let seen: { readonly version: string | undefined; readonly at: number; readonly theirsMs: number } | undefined;
  let lastWarning = "";
  /** The lock as we wrote it last: a renewal goes on from it, and fails when somebody else has written since. */
  let held: LockState | undefined;

  // Two thirds of the time others wait: what is left covers a slow clock and a write under way.
  const termMs = (durationMs * 2) / 3;
  const leading = (): boolean => renewedAt !== undefined && options.monotonicMs() - renewedAt < termMs;
  const end = (): void => {
    clearTimeout(expiry);
    renewedAt = undefined;
    held = undefined;
    term?.abort();
    term = undefined;
  };
  const heldByOther = ({ record, object }: LockState): boolean => {
    if (record?.holder === "" || record?.holder === identity) return false;
    if (record !== undefined) {
      if (options.mayTakeFrom?.(record.key) === true) return false;
      const version = object?.metadata.resourceVersion;
      const theirsMs = record.durationSeconds > 0 ? record.durationSeconds * 1000 : durationMs;
      if (seen?.version !== version) seen = { version, at: options.monotonicMs(), theirsMs };
    }
    // Who held a lock that is gone, as with a store that was lost, has not released it: the term is waited for all the same.
    return seen !== undefined && options.monotonicMs() - seen.at < seen.theirsMs;
  };
  const attempt = async (): Promise<void> => {
    const state = held ?? (await lock.read(options.signal));
    held = undefined;
    // A lock that is gone can be taken by anybody who comes now: the term ends also where nobody has.
    if (state.record?.holder !== identity) end();
    if (heldByOther(state)) return;
    const asked = options.monotonicMs();
    held = await lock.write(
      nextRecord(state.record, { holder: identity, key, durationMs, now: options.now() }),
      state,
      options.signal,
    );
    renewedAt = asked;
    seen = undefined;
    // A renewal that hangs must not keep the term open.
    clearTimeout(expiry);
    expiry = setTimeout(end, Math.max(0, asked + termMs - options.monotonicMs()));
    expiry.unref();
    if (term === undefined && leading()) {
      term = new AbortController();
      options.lead(AbortSignal.any([term.signal, options.signal]));
    }
  };
  /** The same trouble is told once, not with every attempt. */
  const failed = (error: unknown): void => {
    const { code, message } = FairleadError.from(error);
    if (options.signal.aborted || code === "conflict" || message === lastWarning) return;
    lastWarning = message;
    options.log.warn(`${lock.name}: ${message}`);
  };
  const loop = async (): Promise<void> => {
    while (!options.signal.aborted) {
      await attempt()
        .catch((error: unknown) => {
          const { code } = FairleadError.from(error);
          // Somebody else has written, or it is gone: whether we still hold it has to be known at once.
          return code === "conflict" || code === "not-found" ? attempt() : Promise.reject(error);
        })
        .then(() => {
          lastWarning = "";
        }, failed);
      if (!leading()) end();
      await wait(renewMs, options.signal).catch(() => {});
    }
    if (leading()) await release(options).catch(() => {});
    end();
  };
  return {
    get leading() {
      return leading();
    },
    done: loop(),
  };
}

function nextRecord(
  before: LockRecord | undefined,
  next: { readonly holder: string; readonly key: string; readonly durationMs: number; readonly now: Date },
): LockRecord {
  const time = microTime(next.now);
  const same = before?.holder === next.holder;
  const transitions = before?.transitions ?? 0;
  return {
    holder: next.holder,
    key: next.key,
    durationSeconds: Math.ceil(next.durationMs / 1000),
    acquireTime: same && before.acquireTime !== "" ? before.acquireTime : time,
    renewTime: time,
    transitions: same || before === undefined ? transitions : transitions + 1,
  };
}

async function release({ lock, identity }: ElectionOptions): Promise<void> {
  const state = await lock.read();
  if (state.record?.holder !== identity) return;
  await lock.write({ ...state.record, holder: "", durationSeconds: 1 }, state);
}

/** The form of Kubernetes' MicroTime. */
export function microTime(date: Date): string {
  return date.toISOString().replace("Z", "000Z");
}
