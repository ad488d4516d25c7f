/** Something that can be asked whether it lives in; the word that it has been silent for too long out. */
import { wait } from "./backoff.ts";
import type { Logger } from "./log.ts";

export interface SilenceLimits {
  /** Between one question and the next. */
  readonly periodMs: number;
  /** How long one answer may take. */
  readonly answerMs: number;
  /** Silent for so long, it is spoken of. */
  readonly warnMs: number;
  /** Silent for so long, it is given up. */
  readonly replaceMs: number;
  /** And after so many questions: one that is only slow must not be taken for one that hangs. */
  readonly minQuestions: number;
  /** One that has never answered is starting, for so long. */
  readonly startMs: number;
}

export interface SilenceOptions {
  /** As it is called in messages: `the control plane`. */
  readonly name: string;
  /** Resolves when it answers, whatever the answer. */
  readonly ask: (deadline: AbortSignal) => Promise<unknown>;
  readonly limits: SilenceLimits;
  readonly log: Logger;
  /** It has gone, or is to go. */
  readonly signal: AbortSignal;
}

/**
 * Resolves with what is to be told when it has to be replaced, or with nothing when the signal came first. Time counts only
 * while we run ourselves: a silence is as long as our own waiting, however long somebody kept us from running.
 */
export async function watchSilence(options: SilenceOptions): Promise<string | undefined> {
  const { name, limits, log, signal } = options;
  let [startingMs, silentMs, questions, told] = [limits.startMs, 0, 0, false];
  for (;;) {
    const sinceMs = performance.now();
    await wait(limits.periodMs, signal).catch(() => {});
    if (signal.aborted) return undefined;
    const answered = await answersInTime(options);
    if (signal.aborted) return undefined;
    if (answered && told) log.info(`${name} answers again`);
    // One that refuses at once is not counted as if its answer had been waited for.
    const waitedMs = Math.min(performance.now() - sinceMs, limits.periodMs + limits.answerMs);
    if (answered || startingMs > 0) {
      [startingMs, silentMs, questions, told] = [answered ? 0 : startingMs - waitedMs, 0, 0, false];
      continue;
    }
    silentMs += waitedMs;
    questions++;
    const message = `${name} has not answered for ${(silentMs / 1000).toFixed(1)} s`;
    if (silentMs >= limits.replaceMs && questions >= limits.minQuestions) return `${message}, and is replaced`;
    if (silentMs >= limits.warnMs && !told) log.warn(message);
    told ||= silentMs >= limits.warnMs;
  }
}

/** One that does not care for its deadline is no reason to wait for longer. */
function answersInTime({ ask, limits, signal }: SilenceOptions): Promise<boolean> {
  const deadline = new AbortController();
  return new Promise<boolean>((resolve) => {
    const late = setTimeout(() => resolve(false), limits.answerMs);
    const leave = (): void => resolve(false);
    signal.addEventListener("abort", leave, { once: true });
    ask(deadline.signal)
      .then(
        () => resolve(true),
        () => resolve(false),
      )
      .finally(() => {
        clearTimeout(late);
        signal.removeEventListener("abort", leave);
      });
  }).finally(() => deadline.abort());
}
