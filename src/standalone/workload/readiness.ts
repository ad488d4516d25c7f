/** A probe and a running process in; each change between ready and not ready, and the word that it hangs, out. */
import { FairleadError, wait } from "../../lib/index.ts";
import type { Running } from "../processes.ts";

/**
 * Resolves where all is well. Rejects with `timeout` where there is no answer at all, with `unavailable` where nobody
 * listens, and otherwise where the answer says no.
 */
export type Probe = (running: Running, signal: AbortSignal) => Promise<void>;

export interface ReadinessOptions {
  readonly probe: Probe;
  readonly running: Running;
  /** Whether it counts as ready at first: what took over from a process that was. */
  readonly ready: boolean;
  /** Also called when only the reason has changed. */
  readonly changed: (ready: boolean, problem: string) => void;
  /** It has been without any answer for so long that it must be replaced. */
  readonly hung: (problem: string) => void;
  readonly signal: AbortSignal;
}

/** While it starts we want to know soon; afterwards one late answer on a busy machine means nothing. */
const startingMs = { first: 50, longest: 500 };
const periodMs = 2_000;
const failuresUntilNotReady = 3;
const silencesUntilHung = 10;
/** What goes on while its keeper is started again counts as ready for so long without an answer. */
const takeOverMs = 15_000;

export async function watchReadiness(options: ReadinessOptions): Promise<void> {
  const { signal } = options;
  const startedMs = performance.now();
  let [ready, failures, silences, answered] = [options.ready, 0, 0, false];
  let [pauseMs, told] = [startingMs.first, ""];
  const set = (now: boolean, problem: string): void => {
    if (ready === now && told === problem) return;
    [ready, told] = [now, problem];
    options.changed(now, problem);
  };
  while (!signal.aborted) {
    const problem = await options.probe(options.running, signal).then(
      () => undefined,
      (error: unknown) => FairleadError.from(error),
    );
    if (signal.aborted) return;
    if (problem === undefined) {
      [failures, silences, answered] = [0, 0, true];
      set(true, "");
    } else {
      failures++;
      silences = problem.code === "timeout" ? silences + 1 : 0;
      const isTakingOver = ready && !answered && isSilent(problem) && performance.now() - startedMs < takeOverMs;
      if (!ready || (failures >= failuresUntilNotReady && !isTakingOver)) set(false, problem.message);
      if (answered && silences >= silencesUntilHung) return options.hung(problem.message);
    }
    pauseMs = ready && failures === 0 ? periodMs : Math.min(startingMs.longest, pauseMs * 1.2);
    await wait(pauseMs, signal).catch(() => {});
  }
}

const isSilent = ({ code }: FairleadError): boolean => code === "timeout" || code === "unavailable";
