/**
 * A file in; a place for a process's output out, that can be read back. A process that writes to a file, not to a pipe
 * of ours, never waits for us: it goes on when we are stopped, and when we are gone.
 */
import { closeSync, copyFileSync, fchownSync, mkdirSync, openSync, truncateSync } from "node:fs";
import { dirname } from "node:path";
import { StringDecoder } from "node:string_decoder";
import { printable } from "../../lib/index.ts";
import { readFrom, sizeOf, watchQuietly } from "./file.ts";
import { createLogHistory, type LogHistory } from "./history.ts";

export interface ContainerLog extends LogHistory {
  readonly path: string;
  /** Opens the file for a process, whose life begins with it; the caller closes it when the process has it. */
  open(): number;
  /** The last lines, as text that may go into an object. */
  lastLines(): string;
  /** So many bytes of the end, as they are. */
  tail(bytes: number): string;
  /** Calls back with each line from now on; what is returned ends it, after what has come so far. */
  follow(line: (text: string) => void): () => void;
  /** Moves the content aside when it has grown too large; writers go on, because they append. */
  trim(): void;
}

const maxFileBytes = 10 * 1024 * 1024;
const maxReadBytes = 256 * 1024;
/** As much as Kubernetes keeps of a container's last words; fewer, so that an Event can hold them. */
const lastBytes = 800;
const lastCount = 8;

/** `owner` must be able to open the file again: Envoy opens /dev/stdout anew for its access log. */
export function createContainerLog(path: string, owner: number | undefined): ContainerLog {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const open = (): number => {
    const fd = openSync(path, "a", 0o600);
    if (owner !== undefined) fchownSync(fd, owner, owner);
    return fd;
  };
  closeSync(open());
  const history = createLogHistory(path);
  return {
    ...history,
    path,
    open() {
      const fd = open();
      history.begin();
      return fd;
    },
    lastLines() {
      const from = Math.max(0, sizeOf(path) - lastBytes);
      return lastOf(readFrom(path, from, lastBytes).toString(), from > 0);
    },
    tail: (bytes) => readFrom(path, Math.max(0, sizeOf(path) - bytes), bytes).toString(),
    follow: (line) => follow(path, line),
    trim() {
      if (sizeOf(path) <= maxFileBytes) return;
      history.move(() => {
        copyFileSync(path, `${path}.1`);
        truncateSync(path);
      });
    },
  };
}

/** A line that was cut at its beginning is left out. */
function lastOf(text: string, cut: boolean): string {
  const all = text.split("\n").slice(cut ? 1 : 0);
  const spoken = all.filter((line) => line.trim() !== "").slice(-lastCount);
  return spoken.map((line) => printable(line.replaceAll("\t", " "))).join("\n");
}

function follow(path: string, line: (text: string) => void): () => void {
  const decoder = new StringDecoder("utf8");
  let [readTo, rest] = [sizeOf(path), ""];
  const read = (): void => {
    const size = sizeOf(path);
    // Trimmed meanwhile: what is there now is new.
    if (size < readTo) readTo = 0;
    for (let bytes = readFrom(path, readTo, maxReadBytes); bytes.length > 0; ) {
      readTo += bytes.length;
      const lines = (rest + decoder.write(bytes)).split("\n");
      rest = lines.pop() ?? "";
      for (const text of lines) line(text);
      bytes = readFrom(path, readTo, maxReadBytes);
    }
  };
  const watcher = watchQuietly(path, read);
  // Where the machine has no more watches to give, a look now and then does.
  const timer = setInterval(read, 500);
  return () => {
    clearInterval(timer);
    watcher?.close();
    read();
    if (rest !== "") line(rest);
  };
}
