/** What moves in the mesh in; at most one word a second of it to each page that listens, out. */
import type { HttpStream } from "../../ops/index.ts";

const maxStreams = 32;
/** Of one user of the API, so that nobody can keep all others out. */
const maxOfOne = 8;
const frameMs = 1_000;
/** So that whoever stands between does not take silence for an end. */
const stillHereMs = 15_000;

export interface Live {
  /** False: there are as many as may be, of all or of that one. */
  admits(who: string): boolean;
  follow(stream: HttpStream, who: string): void;
}

/** Who has read nothing for so many frames has gone, whatever its connection says. */
const maxMissed = 60;

/**
 * Pages ask again for what they show: so a frame is the same few bytes for everybody, and a slow reader owes nothing. One
 * that never reads gives up its place; `onSlow` is told of it.
 */
export function createLive(moves: () => string, onSlow: () => void = () => {}): Live {
  const streams = new Map<HttpStream, { readonly who: string; missed: number }>();
  let timer: NodeJS.Timeout | undefined;
  let said = "";
  let lastMs = 0;
  const look = (): void => {
    const now = moves();
    const isDue = performance.now() - lastMs >= stillHereMs;
    if (now === said && !isDue) return;
    said = now;
    lastMs = performance.now();
    for (const [stream, reader] of streams) send(stream, reader, now);
  };
  const send = (stream: HttpStream, reader: { missed: number }, now: string): void => {
    reader.missed = stream.isBehind() ? reader.missed + 1 : 0;
    if (reader.missed >= maxMissed) {
      streams.delete(stream);
      onSlow();
      stream.end();
    } else if (reader.missed === 0) stream.write(`data: ${JSON.stringify({ moves: now })}\n\n`);
  };
  return {
    admits(who) {
      const own = [...streams.values()].filter((one) => one.who === who).length;
      return streams.size < maxStreams && (who === "" || own < maxOfOne);
    },
    follow(stream, who) {
      const reader = { who, missed: 0 };
      streams.set(stream, reader);
      // What the others were told last stays: they have not heard of it yet.
      send(stream, reader, moves());
      timer ??= setInterval(look, frameMs).unref();
      stream.onClose(() => {
        streams.delete(stream);
        if (streams.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      });
    },
  };
}
