/** What moves in the mesh in; at most one word a second of it to each page that listens, out. */
import type { HttpStream } from "../../ops/index.ts";

const maxStreams = 32;
const frameMs = 1_000;
/** So that whoever stands between does not take silence for an end. */
const stillHereMs = 15_000;

export interface Live {
  /** False: there are as many as may be. */
  admits(): boolean;
  follow(stream: HttpStream): void;
}

/** Who has read nothing for so many frames has gone, whatever its connection says. */
const maxMissed = 60;

/**
 * Pages ask again for what they show: so a frame is the same few bytes for everybody, and a slow reader owes nothing. One
 * that never reads gives up its place; `onSlow` is told of it.
 */
export function createLive(moves: () => string, onSlow: () => void = () => {}): Live {
  const streams = new Map<HttpStream, number>();
  let timer: NodeJS.Timeout | undefined;
  let said = "";
  let lastMs = 0;
  const look = (): void => {
    const now = moves();
    const isDue = performance.now() - lastMs >= stillHereMs;
    if (now === said && !isDue) return;
    said = now;
    lastMs = performance.now();
    for (const [stream] of streams) send(stream, now);
  };
  const send = (stream: HttpStream, now: string): void => {
    const missed = stream.isBehind() ? (streams.get(stream) ?? 0) + 1 : 0;
    if (missed >= maxMissed) {
      streams.delete(stream);
      onSlow();
      stream.end();
      return;
    }
    streams.set(stream, missed);
    if (missed === 0) stream.write(`data: ${JSON.stringify({ moves: now })}\n\n`);
  };
  return {
    admits: () => streams.size < maxStreams,
    follow(stream) {
      streams.set(stream, 0);
      // What the others were told last stays: they have not heard of it yet.
      send(stream, moves());
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
