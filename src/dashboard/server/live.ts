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

/** Pages ask again for what they show: so a frame is the same few bytes for everybody, and a slow reader owes nothing. */
export function createLive(moves: () => string): Live {
  const streams = new Set<HttpStream>();
  let timer: NodeJS.Timeout | undefined;
  let said = "";
  let lastMs = 0;
  const look = (): void => {
    const now = moves();
    const isDue = performance.now() - lastMs >= stillHereMs;
    if (now === said && !isDue) return;
    said = now;
    lastMs = performance.now();
    for (const stream of streams) send(stream, now);
  };
  const send = (stream: HttpStream, now: string): void => {
    if (!stream.isBehind()) stream.write(`data: ${JSON.stringify({ moves: now })}\n\n`);
  };
  return {
    admits: () => streams.size < maxStreams,
    follow(stream) {
      streams.add(stream);
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
