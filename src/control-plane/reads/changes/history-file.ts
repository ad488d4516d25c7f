/**
 * Changes, and what is found out of them later, in; a file that has the last thousand for the next start out. It only
 * grows, and is written anew when it is too long. A line that was not written to its end is left out.
 */
import { appendFileSync, closeSync, constants, openSync } from "node:fs";
import { appendFile } from "node:fs/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Logger, readBoundedFile, systemCode } from "../../../lib/index.ts";
import { replaceSecretFile } from "../../../pki/index.ts";
import { readLines } from "./history-lines.ts";
import { type KeptChange, maxChanges } from "./kept-change.ts";

export interface History {
  /** Of earlier processes, newest first. */
  read(): readonly KeptChange[];
  /** `all` are those that are known now, newest first. */
  add(change: KeptChange, all: () => readonly KeptChange[]): void;
  settled(change: KeptChange): void;
}

export interface HistoryOptions {
  readonly path: string;
  readonly log: Logger;
  /** What is not written then is written at once, or after what is being written, and nothing after it. */
  readonly signal: AbortSignal;
  /** Told at the end when all is written. */
  readonly onEnd?: (written: Promise<void>) => void;
  /** It is written anew beyond that. */
  readonly maxBytes?: number;
}

/** Many changes come together. */
const waitMs = 100;
/** Written anew it has room to grow. */
const keptShare = 0.5;

export function createHistoryFile(options: HistoryOptions): History {
  const { path, log, signal, onEnd, maxBytes = 8 * 1024 * 1024 } = options;
  const fresh = new Set<KeptChange>();
  const settled = new Set<KeptChange>();
  let all: () => readonly KeptChange[] = () => [];
  let isDue = false;
  let isWriting = false;
  let writing = Promise.resolve();
  /** Unknown until it was written anew: the end of what was found may be torn. */
  let bytes: number | undefined;

  async function flush(): Promise<void> {
    const [added, known] = [take(fresh), take(settled)];
    let text = "";
    for (const change of added) {
      text += wholeLine(change);
      // Differences are worked out here.
      await nextTurn();
    }
    const isNew = new Set(added);
    for (const change of known) if (!isNew.has(change)) text += settledLine(change);
    if (bytes === undefined || bytes + text.length > maxBytes) {
      const whole = textOf(all(), maxBytes * keptShare);
      await replaceSecretFile(path, whole);
      bytes = Buffer.byteLength(whole);
    } else {
      await appendFile(path, text, { mode: 0o600, flag: appendFlags });
      bytes += Buffer.byteLength(text);
    }
  }

  async function flushInTurn(): Promise<void> {
    if (signal.aborted) return;
    isWriting = true;
    await flush().catch(failed);
    isWriting = false;
  }

  const later = (): void => {
    if (isDue) return;
    isDue = true;
    setTimeout(() => {
      isDue = false;
      writing = writing.then(flushInTurn);
    }, waitMs).unref();
  };

  const failed = (error: unknown): void => {
    // It is written anew with the next change; those who look have all of it meanwhile.
    bytes = undefined;
    log.warn(`changes are not kept: ${error instanceof Error ? error.message : String(error)}`);
  };

  /** Where nothing was written anew yet, the end of the file may be torn: a line of its own is not. */
  const writeRest = (): void => {
    const text = [...take(fresh).map(wholeLine), ...take(settled).map(settledLine)].join("");
    if (text === "") return;
    try {
      appendAtOnce(path, `\n${text}`);
    } catch (error) {
      failed(error);
    }
  };
  const end = (): void => {
    // A file that is being written anew would take the place of the one that was appended to.
    if (isWriting) writing = writing.then(writeRest);
    else writeRest();
    onEnd?.(writing);
  };
  signal.addEventListener("abort", end, { once: true });

  return {
    read() {
      try {
        return readLines(readBoundedFile(path, 4 * maxBytes)).slice(0, maxChanges);
      } catch (error) {
        if (systemCode(error) !== "ENOENT")
          log.warn(`earlier changes cannot be read: ${error instanceof Error ? error.message : String(error)}`);
        return [];
      }
    },
    add(change, known) {
      if (signal.aborted) return;
      all = known;
      fresh.add(change);
      later();
    },
    settled(change) {
      if (signal.aborted) return;
      settled.add(change);
      later();
    },
  };
}

/** What stands there as a link leads to a file of somebody else. */
const appendFlags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;

function appendAtOnce(path: string, text: string): void {
  const file = openSync(path, appendFlags, 0o600);
  try {
    appendFileSync(file, text);
  } finally {
    closeSync(file);
  }
}

function take<T>(set: Set<T>): readonly T[] {
  const taken = [...set];
  set.clear();
  return taken;
}

const wholeLine = (change: KeptChange): string => `${JSON.stringify(change)}\n`;
const settledLine = ({ id, proxies, touched, untold }: KeptChange): string =>
  `${JSON.stringify({ id, proxies, touched, untold })}\n`;

/** The oldest lose their differences where there is no room. */
function textOf(changes: readonly KeptChange[], maxBytes: number): string {
  let text = "";
  for (const change of changes) {
    const line = wholeLine(change);
    text += text.length + line.length <= maxBytes ? line : wholeLine({ ...change, diff: noLonger });
  }
  return text;
}

const noLonger = [" the difference is no longer kept"];
