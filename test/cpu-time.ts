/** Processor time of the own thread: what it has had so far, and a way to use some up, however busy the machine. */
export function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

export function spendCpu(ms: number): void {
  for (const end = threadCpuMs() + ms; threadCpuMs() < end; );
}

/** Turns are looked at so often; several short ones that fit in between count as one. */
const lookMs = 5;

export interface TurnWatch {
  /** Of the longest turn since it was last asked. */
  takeMs(): number;
  stop(): void;
}

/** The event loop of the own thread, in processor time, so that nobody else's work counts. */
export function watchTurns(): TurnWatch {
  let [last, longest] = [threadCpuMs(), 0];
  const look = (): void => {
    const now = threadCpuMs();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const timer = setInterval(look, lookMs).unref();
  return {
    takeMs() {
      look();
      const taken = longest;
      longest = 0;
      return taken;
    },
    stop: () => clearInterval(timer),
  };
}
