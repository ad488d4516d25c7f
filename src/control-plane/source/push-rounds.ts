/**
 * Rounds of a push in, one after the other out. A round takes what is due when it begins; what becomes due meanwhile waits for
 * its own debounce. What has to wait for others, such as a class that is made for the first time behind a herd, goes on
 * beside the rounds: no push waits for it.
 */

export interface PushRounds {
  /** One more round, after the one that runs. */
  run(): Promise<void>;
  /** Goes on by itself; must not reject. */
  beside(work: Promise<unknown>): void;
  /** Resolves when nothing is due, and nothing goes on beside. */
  settle(): Promise<void>;
  /** Whether anything is under way. */
  readonly isBusy: boolean;
  /** The version at which the last round began whose work is all done. */
  readonly made: number;
}

export interface PushRoundsOptions {
  version(): number;
  isDue(): boolean;
  round(): Promise<void>;
}

export function createPushRounds({ version, isDue, round }: PushRoundsOptions): PushRounds {
  const others = new Set<Promise<unknown>>();
  let isWanted = false;
  let running: Promise<void> | undefined;
  let reached = 0;
  let made = 0;

  function note(): void {
    if (others.size === 0) made = reached;
  }

  async function rounds(): Promise<void> {
    while (isWanted) {
      isWanted = false;
      const began = version();
      await round();
      reached = began;
      note();
    }
  }

  function run(): Promise<void> {
    isWanted = true;
    running ??= rounds().finally(() => {
      running = undefined;
    });
    return running;
  }

  return {
    run,
    beside(work) {
      others.add(work);
      void work.finally(() => {
        others.delete(work);
        note();
      });
    },
    async settle() {
      do {
        await run();
        while (others.size > 0) await Promise.all(others);
      } while (isDue());
    },
    get isBusy() {
      return running !== undefined || others.size > 0;
    },
    get made() {
      return made;
    },
  };
}
