/** A running Envoy in; the word that it hangs, and its end, out, where its admin has not answered for long. */
import { type Logger, wait } from "../../lib/index.ts";
import type { EnvoyAdmin } from "./admin.ts";
import type { EnvoyProcess } from "./process.ts";

export interface HangLimits {
  readonly periodMs: number;
  /** Silent for so long, it is spoken of. */
  readonly warnMs: number;
  /** Silent for so long, it is replaced. */
  readonly replaceMs: number;
  /** And after so many questions: one that is only slow must not be taken for one that hangs. */
  readonly minQuestions: number;
}

/** Envoy's main thread answers between two updates, which take seconds on a busy machine. */
export const hangLimits: HangLimits = { periodMs: 5_000, warnMs: 20_000, replaceMs: 60_000, minQuestions: 6 };

export interface WatchdogOptions {
  readonly admin: EnvoyAdmin;
  readonly limits: HangLimits;
  readonly log: Logger;
  /** Envoy has gone, or is to go. */
  readonly signal: AbortSignal;
}

/**
 * Resolves with true when it has ended a hanging Envoy. One that has not answered yet is starting. Time counts only while
 * we run ourselves: each silence is as long as our own waiting for an answer.
 */
export async function watchEnvoy(envoy: EnvoyProcess, options: WatchdogOptions): Promise<boolean> {
  const { admin, limits, log, signal } = options;
  let [hasAnswered, silentMs, questions, told] = [false, 0, 0, false];
  for (;;) {
    await wait(limits.periodMs, signal).catch(() => {});
    if (signal.aborted) return false;
    const since = performance.now();
    // Any answer is one.
    const answers = await admin.answers();
    if (signal.aborted) return false;
    if (answers && told) log.info("Envoy answers again");
    if (answers || !hasAnswered) {
      [hasAnswered, silentMs, questions, told] = [hasAnswered || answers, 0, 0, false];
      continue;
    }
    silentMs += limits.periodMs + Math.min(performance.now() - since, adminTimeoutMs);
    questions++;
    const seconds = Math.round(silentMs / 1000);
    if (silentMs >= limits.warnMs && !told) log.warn(`Envoy has not answered for ${seconds} s`);
    told ||= silentMs >= limits.warnMs;
    if (silentMs < limits.replaceMs || questions < limits.minQuestions) continue;
    log.error(`Envoy has not answered for ${seconds} s, and is replaced`);
    envoy.kill();
    return true;
  }
}

/** How long one question to Envoy's admin may take. */
const adminTimeoutMs = 5_000;
