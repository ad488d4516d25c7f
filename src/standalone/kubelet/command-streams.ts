/**
 * A connection of `kubectl exec`, `cp` or `attach` in; its standard streams out, whichever protocol they came over: a
 * stream of SPDY for each, or messages of a WebSocket that begin with the number of one.
 */
import { PassThrough, type Readable, type Writable } from "node:stream";
import { type ByteTransport, drained } from "../../lib/index.ts";
import { channelWriter } from "./channel-writer.ts";
import { type SpdyStream, serveSpdy } from "./spdy.ts";
import type { Offer, Upgraded } from "./upgrade.ts";

export interface TerminalSize {
  readonly rows: number;
  readonly columns: number;
}

export interface CommandStreams {
  readonly stdin: Readable | undefined;
  readonly stdout: Writable | undefined;
  readonly stderr: Writable | undefined;
  /** Says how it ended, as a Status, and ends the connection. */
  finish(status: object): Promise<void>;
  resized(listener: (size: TerminalSize) => void): void;
  /** Aborted when the client is gone. */
  readonly signal: AbortSignal;
}

export interface Wanted {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** Version 4 brought the exit code; version 5 the word that standard input has ended. */
export const commandOffer: Offer = {
  webSocket: ["v5.channel.k8s.io", "v4.channel.k8s.io"],
  spdy: ["v4.channel.k8s.io"],
};

/** For the client to open all of its streams. */
const openMs = 30_000;

/** Undefined where the client did not open them in time. */
export function openCommandStreams(upgraded: Upgraded, wanted: Wanted): Promise<CommandStreams | undefined> {
  return upgraded.over === "spdy" ? overSpdy(upgraded.transport, wanted) : overWebSocket(upgraded.transport, wanted);
}

async function overSpdy(transport: ByteTransport, wanted: Wanted): Promise<CommandStreams | undefined> {
  const names = ["error", ...(["stdin", "stdout", "stderr"] as const).filter((name) => wanted[name])];
  const all = wanted.tty ? [...names, "resize"] : names;
  const open = new Map<string, SpdyStream["bytes"]>();
  const complete = Promise.withResolvers<boolean>();
  const gone = new AbortController();
  const timer = setTimeout(() => complete.resolve(false), openMs);
  const serving = serveSpdy(transport, {
    maxStreams: all.length,
    opened({ headers, bytes }) {
      const name = headers.get("streamtype") ?? "";
      if (!all.includes(name) || open.has(name)) return void bytes.destroy();
      open.set(name, bytes);
      if (open.size === all.length) complete.resolve(true);
    },
  });
  const leave = (): void => {
    complete.resolve(false);
    gone.abort();
  };
  void serving.finally(leave);
  transport.gone.addEventListener("abort", leave, { once: true });
  const isComplete = await complete.promise;
  clearTimeout(timer);
  if (!isComplete) return void transport.close();
  // What only we write to is read to its end, which the client has sent already.
  for (const name of ["error", "stdout", "stderr"]) open.get(name)?.resume();
  return {
    ...{ stdin: open.get("stdin"), stdout: open.get("stdout"), stderr: open.get("stderr") },
    async finish(status) {
      const error = open.get("error");
      await Promise.all([ended(open.get("stdout")), ended(open.get("stderr"))]);
      error?.end(JSON.stringify(status));
      await ended(error);
      // The client closes the connection when it has read all.
      const late = setTimeout(() => transport.close(), closeMs);
      await serving;
      clearTimeout(late);
    },
    resized: (listener) => readSizes(open.get("resize"), listener),
    signal: gone.signal,
  };
}

const closeMs = 10_000;

function ended(stream: Writable | undefined): Promise<void> {
  if (!stream || stream.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    stream.once("close", resolve);
    stream.end(resolve);
  });
}

const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;

async function overWebSocket(transport: ByteTransport, wanted: Wanted): Promise<CommandStreams> {
  const stdin = wanted.stdin ? new PassThrough() : undefined;
  const resize = new PassThrough();
  const gone = new AbortController();
  const read = async (): Promise<void> => {
    for await (const message of transport.incoming) {
      const [channel] = message;
      const bytes = message.subarray(1);
      if (channel === channels.stdin && stdin?.writable) await room(stdin, bytes, gone.signal);
      // Most commands have no terminal, and then nobody reads them.
      else if (channel === channels.resize && !resize.writableNeedDrain) resize.write(bytes);
      else if (channel === channels.close && bytes[0] === channels.stdin) stdin?.end();
    }
  };
  const leave = (): void => {
    stdin?.end();
    gone.abort();
  };
  void read().finally(leave);
  transport.gone.addEventListener("abort", leave, { once: true });
  const writer = (name: "stdout" | "stderr"): Writable | undefined =>
    wanted[name] ? channelWriter(transport, channels[name]) : undefined;
  const [stdout, stderr] = [writer("stdout"), writer("stderr")];
  // Clients wait for a first message to know that the command has begun.
  await transport.send(Buffer.from([stdout ? channels.stdout : stderr ? channels.stderr : channels.error]));
  return {
    ...{ stdin, stdout, stderr, signal: gone.signal },
    async finish(status) {
      await Promise.all([ended(stdout), ended(stderr)]);
      await transport.send(Buffer.concat([Buffer.from([channels.error]), Buffer.from(JSON.stringify(status))]));
      transport.close();
    },
    resized: (listener) => readSizes(resize, listener),
  };
}

/** Resolves when there is room for more, or nobody who would send it. */
const room = (into: PassThrough, bytes: Buffer, signal: AbortSignal): Promise<void> =>
  into.write(bytes) || signal.aborted ? Promise.resolve() : drained(into);

const maxSizeBytes = 1024;

/** JSON objects, one after the other. */
function readSizes(from: Readable | undefined, listener: (size: TerminalSize) => void): void {
  let text = "";
  from?.on("data", (chunk: Buffer) => {
    text = `${text}${chunk}`.slice(-maxSizeBytes);
    const found = [...text.matchAll(/\{"Width":(\d{1,5}),"Height":(\d{1,5})\}/g)].at(-1);
    if (!found) return;
    text = "";
    listener({ columns: Number(found[1]), rows: Number(found[2]) });
  });
}
