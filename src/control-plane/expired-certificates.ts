/**
 * Secrets in; of those whose certificate has expired, when it did, out. Time alone makes a certificate expire, so the next
 * end is waited for. What is derived from this is made again then, as with every other change.
 */
import type { Collection, Graph } from "../collections/index.ts";
import { credentialState, type KubeObject, secretKeyPair } from "../model/index.ts";

export interface ExpiredCertificatesOptions {
  readonly graph: Graph;
  readonly secrets: Collection<KubeObject>;
  readonly now: () => Date;
  readonly signal: AbortSignal;
}

/** No timer can have more than some weeks, and a clock that was set right is to count. */
const dayMs = 86_400_000;
/** Reading a certificate takes a twentieth of a millisecond. */
const atOnce = 100;

export function followExpired({ graph, secrets, now, signal }: ExpiredCertificatesOptions): Collection<Date> {
  const expired = graph.source<Date>("expired certificates", { equals: (a, b) => a.getTime() === b.getTime() });
  /** Ends that are to come. */
  const ends = new Map<string, Date>();
  const changed = new Set<string>();
  let isDue = false;
  let timer: NodeJS.Timeout | undefined;
  const judge = (key: string): void => {
    const end = endOf(secrets.get(key), now());
    if (end && end.getTime() < now().getTime()) expired.set(key, end);
    else expired.delete(key);
    if (end && end.getTime() >= now().getTime()) ends.set(key, end);
    else ends.delete(key);
  };
  const look = (): void => {
    isDue = false;
    if (signal.aborted) return;
    for (const key of [...changed].slice(0, atOnce)) {
      changed.delete(key);
      judge(key);
    }
    if (changed.size > 0) lookSoon();
    else sleep();
  };
  const lookSoon = (): void => {
    if (!isDue) setImmediate(look);
    isDue = true;
  };
  const sleep = (): void => {
    clearTimeout(timer);
    const nowMs = now().getTime();
    let nextMs = dayMs;
    for (const end of ends.values()) nextMs = Math.min(nextMs, end.getTime() - nowMs + 1);
    if (ends.size + expired.size > 0) timer = setTimeout(wake, nextMs).unref();
  };
  const wake = (): void => {
    const nowMs = now().getTime();
    for (const [key, end] of ends) if (end.getTime() < nowMs) changed.add(key);
    // Where the clock was wrong, they may have time left.
    for (const key of expired.keys()) changed.add(key);
    look();
  };
  for (const key of secrets.keys()) changed.add(key);
  // Not at once: what is derived from Secrets themselves is being made now.
  const stop = secrets.subscribe((key) => {
    changed.add(key);
    lookSoon();
  });
  signal.addEventListener(
    "abort",
    () => {
      stop();
      clearTimeout(timer);
    },
    { once: true },
  );
  look();
  return expired;
}

/** Undefined where there is no certificate with its key, or none that can be read: others tell of that. */
function endOf(secret: KubeObject | undefined, now: Date): Date | undefined {
  const pair = secret && secretKeyPair(secret);
  return pair ? credentialState({ cert: pair.cert }, now).until : undefined;
}
