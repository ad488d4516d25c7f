/** What a command is busy with in; a line on standard error, once it takes longer than a second, out. */
import { printable } from "../lib/index.ts";
import type { Io } from "./command.ts";

export interface Progress {
  /** What is being done now; on a terminal it replaces what was said before. */
  say(text: string): void;
  /** Takes the line away. */
  end(): void;
}

const quietMs = 1_000;
/** Where nothing can be redrawn a line stays, so there are few of them. */
const pauseMs = 10_000;

export function createProgress(io: Pick<Io, "err" | "errTty">, now: () => number): Progress {
  const started = now();
  let [lastAt, isShown] = [Number.NEGATIVE_INFINITY, false];
  const clear = "\r\u001b[K";
  return {
    say(text) {
      const at = now();
      if (at - started < quietMs || at - lastAt < (io.errTty ? 100 : pauseMs)) return;
      lastAt = at;
      isShown = io.errTty === true;
      io.err(io.errTty ? `${clear}${printable(text)}` : `${printable(text)}\n`);
    },
    end() {
      if (isShown) io.err(clear);
      isShown = false;
    },
  };
}
