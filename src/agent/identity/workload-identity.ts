/** A way to fetch credentials in, credentials that are always fresh out: renewed at half their life, kept as they are while the CA is away. */
import { type Backoff, createBackoff, FairleadError, type Logger, wait } from "../../lib/index.ts";
import type { FetchCredentials } from "./certificate-client.ts";
import type { WorkloadCredentials } from "./credentials.ts";

export interface WorkloadIdentityOptions {
  readonly fetch: FetchCredentials;
  readonly now: () => Date;
  readonly random: () => number;
  readonly log: Logger;
  /** Share of the life that is left when renewal begins (SECRET_GRACE_PERIOD_RATIO). */
  readonly graceRatio?: number;
  readonly graceJitter?: number;
  readonly retry?: { readonly minMs: number; readonly maxMs: number };
}

export interface WorkloadIdentity {
  current(): WorkloadCredentials | undefined;
  /** Called with each new set of credentials; returns the way to stop. */
  onChange(listener: (credentials: WorkloadCredentials) => void): () => void;
  /** Whatever is left of the certificate's life, comes for another within a moment. */
  renewSoon(): void;
  /** Runs until aborted. */
  run(signal: AbortSignal): Promise<void>;
}

/** All proxies of a mesh are asked to come at once. */
const renewSoonMs = 1000;

/** Timers cannot wait longer than this, and clocks are looked at again meanwhile. */
const longestWaitMs = 3_600_000;
const shortestWaitMs = 100;

export function createWorkloadIdentity(options: WorkloadIdentityOptions): WorkloadIdentity {
  const { minMs, maxMs } = options.retry ?? { minMs: 500, maxMs: 30_000 };
  const backoff = createBackoff({ minMs, maxMs, random: options.random });
  const listeners = new Set<(credentials: WorkloadCredentials) => void>();
  let current: WorkloadCredentials | undefined;
  let wake = new AbortController();

  async function renew(signal: AbortSignal): Promise<void> {
    const fetched = await fetchUntilDone(options, backoff, signal);
    current = fetched;
    options.log.info("certificate renewed", { until: fetched.notAfter.toISOString() });
    for (const listener of listeners) listener(fetched);
  }

  return {
    current: () => current,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    renewSoon: () => wake.abort(),
    async run(signal) {
      while (!signal.aborted) {
        // Who is asked to come while on the way comes once more.
        wake = new AbortController();
        await renew(signal);
        if (!current) continue;
        const woken = AbortSignal.any([signal, wake.signal]);
        await waitForRenewal(renewalTime(options.now(), current.notAfter, options), options.now, woken).catch(
          async () => await wait(options.random() * renewSoonMs, signal),
        );
      }
    },
  };
}

async function fetchUntilDone(
  options: WorkloadIdentityOptions,
  backoff: Backoff,
  signal: AbortSignal,
): Promise<WorkloadCredentials> {
  for (;;) {
    try {
      const credentials = await options.fetch(signal);
      backoff.reset();
      return credentials;
    } catch (error) {
      signal.throwIfAborted();
      const retryMs = Math.round(backoff.nextMs());
      options.log.warn("no certificate yet, will ask again", { cause: FairleadError.from(error).message, retryMs });
      await wait(retryMs, signal);
    }
  }
}

/** When the share of life that is left falls to the grace ratio, give or take the jitter; life counts from when it was received. */
export function renewalTime(
  received: Date,
  notAfter: Date,
  options: Pick<WorkloadIdentityOptions, "random" | "graceRatio" | "graceJitter">,
): Date {
  const jitter = (options.graceJitter ?? 0.01) * (2 * options.random() - 1);
  const ratio = Math.min(1, Math.max(0, (options.graceRatio ?? 0.5) + jitter));
  return new Date(notAfter.getTime() - (notAfter.getTime() - received.getTime()) * ratio);
}

async function waitForRenewal(at: Date, now: () => Date, signal: AbortSignal): Promise<void> {
  for (let leftMs = at.getTime() - now().getTime(); leftMs > 0; leftMs = at.getTime() - now().getTime())
    await wait(Math.min(leftMs, longestWaitMs), signal);
  // A certificate that came expired must not become a storm of requests.
  await wait(shortestWaitMs, signal);
}
