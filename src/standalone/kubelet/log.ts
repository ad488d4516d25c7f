/** A container's log and what kubectl asks of it in; the text, line by line where that matters, out. */
import type { Writable } from "node:stream";
import type { ContainerLog } from "../log/container-log.ts";
import type { LogLife } from "../log/history.ts";

export interface LogOptions {
  readonly follow: boolean;
  readonly timestamps: boolean;
  readonly tailLines: number | undefined;
  readonly since: Date | undefined;
  readonly limitBytes: number | undefined;
}

const pieceBytes = 64 * 1024;
const newline = 0x0a;

export function logOptions(query: URLSearchParams, now: Date): LogOptions {
  const number = (name: string): number | undefined => (query.has(name) ? Number(query.get(name)) : undefined);
  const seconds = number("sinceSeconds");
  const time = query.get("sinceTime");
  return {
    follow: query.has("follow"),
    timestamps: query.has("timestamps"),
    tailLines: number("tailLines"),
    limitBytes: number("limitBytes"),
    since: seconds !== undefined ? new Date(now.getTime() - seconds * 1000) : time ? new Date(time) : undefined,
  };
}

/** Resolves when all is written, or the reader is gone; `life` is that which was running, or the one before. */
export async function writeLog(log: ContainerLog, life: LogLife, options: LogOptions, out: Writable): Promise<void> {
  let at = startOf(log, life, options);
  let left = options.limitBytes ?? Number.POSITIVE_INFINITY;
  const dress = options.timestamps ? createDresser(log) : (bytes: Buffer): Buffer => bytes;
  while (left > 0 && !out.destroyed) {
    // Whether it goes on is asked first: what is written until then is read below.
    const end = endOf(log, life);
    const wanted = Math.min(pieceBytes, end.offset - at);
    const piece = wanted > 0 ? log.read(at, wanted) : undefined;
    if (piece && piece.bytes.length > 0) {
      at = piece.from + piece.bytes.length;
      const dressed = dress(piece.bytes, piece.from).subarray(0, Math.min(left, Number.MAX_SAFE_INTEGER));
      left -= dressed.length;
      await written(out, dressed);
    } else if (!options.follow || end.isFinal) return;
    else await grown(log, at, life, out);
  }
}

/** The end of a life that is over stays; one that goes on ends where the log does. */
function endOf(log: ContainerLog, life: LogLife): { readonly offset: number; readonly isFinal: boolean } {
  const now = [log.current(), log.previous()].find((one) => one?.from === life.from);
  const to = now ? now.to : life.to;
  // Two lives further on nobody knows any more where it ended: what is there of it has been sent.
  if (!now) return { offset: life.to ?? life.from, isFinal: true };
  return to === undefined ? { offset: log.end(), isFinal: false } : { offset: to, isFinal: true };
}

function startOf(log: ContainerLog, life: LogLife, { since, tailLines }: LogOptions): number {
  const bySince = since ? firstLineSince(log, life, since) : life.from;
  return tailLines === undefined ? bySince : Math.max(bySince, tailStart(log, life, tailLines));
}

/** A line belongs to the moment at which its last byte was there. */
function firstLineSince(log: ContainerLog, life: LogLife, since: Date): number {
  const from = Math.max(life.from, log.since(since));
  if (from === life.from) return log.timeOf(from) >= since ? from : endOf(log, life).offset;
  return lineStart(log, life, from);
}

/** The start of the line that the offset is in. */
function lineStart(log: ContainerLog, life: LogLife, offset: number): number {
  return offset <= life.from ? life.from : tailFrom(log, life, offset, 0);
}

function tailStart(log: ContainerLog, life: LogLife, lines: number): number {
  const { offset: end } = endOf(log, life);
  if (lines === 0 || end <= life.from) return end;
  const last = log.read(end - 1, 1).bytes[0];
  // The last line may have no end yet.
  return tailFrom(log, life, end, last === newline ? lines : lines - 1);
}

/** The offset behind the newline that has so many others behind it, before `end`. */
function tailFrom(log: ContainerLog, life: LogLife, end: number, skip: number): number {
  let left = skip;
  for (let at = end; at > life.from; ) {
    const from = Math.max(life.from, at - pieceBytes);
    const piece = log.read(from, at - from);
    if (piece.from >= at) return at;
    for (let i = piece.bytes.length - 1; i >= 0; i--)
      if (piece.bytes[i] === newline && left-- === 0) return piece.from + i + 1;
    if (piece.from > from) return piece.from;
    at = from;
  }
  return life.from;
}

/** Puts the time before each line. */
function createDresser(log: ContainerLog): (bytes: Buffer, from: number) => Buffer {
  let isStart = true;
  return (bytes, from) => {
    const parts: Buffer[] = [];
    for (let at = 0; at < bytes.length; ) {
      const found = bytes.indexOf(newline, at);
      const next = found < 0 ? bytes.length : found + 1;
      if (isStart)
        parts.push(
          Buffer.from(
            `${log
              .timeOf(from + at)
              .toISOString()
              .replace("Z", "000000Z")} `,
          ),
        );
      parts.push(bytes.subarray(at, next));
      isStart = found >= 0;
      at = next;
    }
    return Buffer.concat(parts);
  };
}

function written(out: Writable, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      out.off("close", done);
      resolve();
    };
    out.once("close", done);
    out.write(bytes, done);
  });
}

function grown(log: ContainerLog, at: number, life: LogLife, out: Writable): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      const { offset, isFinal } = endOf(log, life);
      if (offset <= at && !isFinal && !out.destroyed) return;
      unwatch();
      out.off("close", look);
      resolve();
    };
    const unwatch = log.watch(look);
    out.on("close", look);
    look();
  });
}
