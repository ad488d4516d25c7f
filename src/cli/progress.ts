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
const [redrawMs, lineMs] = [100, 10_000];

export function createProgress(io: Pick<Io, "err" | "errTty">): Progress {
  const clear = "\r\u001b[K";
  let [text, shown] = ["", ""];
  let timer: NodeJS.Timeout | undefined;
  const draw = (): void => {
    timer = undefined;
    if (text === shown) return;
    shown = text;
    io.err(io.errTty ? `${clear}${printable(text)}` : `${printable(text)}\n`);
    later(io.errTty ? redrawMs : lineMs);
  };
  // Also while nothing new is said: the step that takes long is the one to tell.
  const later = (ms: number): void => {
    timer = setTimeout(draw, ms).unref();
  };
  later(quietMs);
  return {
    say(next) {
      text = next;
      if (timer === undefined) draw();
    },
    end() {
      clearTimeout(timer);
      if (io.errTty && shown !== "") io.err(clear);
      shown = text;
    },
  };
}
