/**
 * Classes that could not be made in; what they surely have, and when they are to be tried again, out: what they failed over
 * may be gone though nothing of what they read has changed.
 */
import { createBackoff } from "../../lib/index.ts";

export interface Stuck {
  /** Where it could not be made since: the version of the graph that it surely has. */
  readonly stuckAt?: number;
}

export interface FailedClasses<Class> {
  /** It could not be made, and up to `made` all were, but for those that failed before. */
  add(one: Class, made: number): void;
  /** It was made, or has gone. */
  delete(one: Class): void;
  /** Whether it could not be made when it was tried last. */
  has(one: Class): boolean;
  stuck(one: Class): Stuck;
  /** Another number whenever a class is stuck that was not, or no longer is. */
  readonly moves: number;
  /** To be called once all that was due was tried: where nothing fails any more, the next that does is tried again soon. */
  tried(): void;
  close(): void;
}

export interface FailedClassesOptions<Class> {
  onRetry(all: Iterable<Class>): void;
  random(): number;
}

const notStuck: Stuck = {};

export function createFailedClasses<Class>({ onRetry, random }: FailedClassesOptions<Class>): FailedClasses<Class> {
  const failed = new Map<Class, Stuck>();
  const backoff = createBackoff({ minMs: 1000, maxMs: 60_000, random });
  let retry: NodeJS.Timeout | undefined;
  let moves = 0;

  const tryAgain = (): void => {
    retry = undefined;
    onRetry(failed.keys());
  };

  return {
    add(one, made) {
      retry ??= setTimeout(tryAgain, backoff.nextMs()).unref();
      if (failed.has(one)) return;
      failed.set(one, { stuckAt: made });
      moves++;
    },
    delete(one) {
      if (failed.delete(one)) moves++;
    },
    has: (one) => failed.has(one),
    stuck: (one) => failed.get(one) ?? notStuck,
    get moves() {
      return moves;
    },
    tried() {
      if (failed.size === 0) backoff.reset();
    },
    close: () => clearTimeout(retry),
  };
}
