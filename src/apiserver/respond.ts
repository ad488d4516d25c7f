/** An answer in, bytes on the wire out; HTTP/1.1 and HTTP/2 alike. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { Writable } from "node:stream";
import { createGzip, gzip } from "node:zlib";
import { printable } from "../lib/index.ts";
import type { Pace } from "./pace.ts";
import type { WatchSink } from "./watch.ts";

export type Request = IncomingMessage | Http2ServerRequest;
export type Response = ServerResponse | Http2ServerResponse;

const gzipFrom = 128 * 1024;
/** Less goes out in one piece, with its length. */
const pieceCharacters = 64 * 1024;
const maxWarningCharacters = 8 * 1024;
const jsonHeaders = { "content-type": "application/json", "cache-control": "no-cache, private" };

type Headers = Readonly<Record<string, string | readonly string[]>>;

export function headerOf(request: Request, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(", ") : value;
}

/** Each line of a header that may be repeated, as it was sent: a comma is part of its value. */
export function headersOf(request: Request, name: string): readonly string[] {
  return request.rawHeaders.filter((_, i) => i % 2 === 1 && request.rawHeaders[i - 1]?.toLowerCase() === name);
}

/** RFC 7234 warnings, as kubectl prints them; no more than clients take in their headers. */
export function warningHeader(texts: readonly string[]): readonly string[] {
  const out: string[] = [];
  let left = maxWarningCharacters;
  for (const text of new Set(texts)) {
    const line = `299 - "${printable(text.slice(0, maxWarningCharacters)).replace(/["\\]/g, "\\$&")}"`;
    left -= line.length;
    if (left < 0) return [...out, '299 - "further warnings are left out"'];
    out.push(line);
  }
  return out;
}

export function sendJson(
  request: Request,
  response: Response,
  code: number,
  body: unknown,
  headers: Headers = {},
): void {
  sendText(request, response, code, `${JSON.stringify(body)}\n`, headers);
}

function sendText(request: Request, response: Response, code: number, text: string, headers: Headers = {}): void {
  const send = (data: Buffer, extra: Headers): void => {
    if (response.destroyed || response.writableEnded) return;
    setHeaders(response, { ...jsonHeaders, ...headers, ...extra, "content-length": String(data.length) });
    response.statusCode = code;
    if (request.method === "HEAD") end(response);
    else end(response, data);
  };
  const bytes = Buffer.from(text);
  if (bytes.length < gzipFrom || !acceptsGzip(request)) {
    send(bytes, {});
    return;
  }
  gzip(bytes, { level: 1 }, (error, packed) =>
    error ? send(bytes, {}) : send(packed, { "content-encoding": "gzip" }),
  );
}

function setHeaders(response: Response, headers: Headers): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
}

function acceptsGzip(request: Request): boolean {
  return (headerOf(request, "accept-encoding") ?? "").includes("gzip");
}

export function sendBytes(response: Response, data: Buffer, contentType: string): void {
  response.setHeader("content-type", contentType);
  response.setHeader("content-length", String(data.length));
  end(response, data);
}

function end(response: Response, data?: Buffer): void {
  const write = response.end.bind(response) as (chunk?: Buffer) => unknown;
  write(data);
}

export function streamSink(response: Response): WatchSink {
  response.statusCode = 200;
  response.setHeader("content-type", "application/json");
  response.setHeader("cache-control", "no-cache, private");
  if ("flushHeaders" in response) response.flushHeaders();
  const write = writerOf(response);
  let closed = false;
  response.on("close", () => {
    closed = true;
  });
  return {
    write: (line) => closed || write(line),
    end() {
      if (!closed) end(response);
    },
    destroy: () => void response.destroy(),
    onDrain: (listener) => void response.on("drain", listener),
    onClose(listener) {
      if (closed) listener();
      else response.on("close", listener);
    },
  };
}

/** The two classes declare the same method in types that do not unite. */
function writerOf(response: Response): (chunk: string | Buffer) => boolean {
  return response.write.bind(response) as (chunk: string | Buffer) => boolean;
}

/** Texts that make up one answer of JSON in; what is long goes out piece by piece, as fast as the client reads. */
export async function sendPieces(
  request: Request,
  response: Response,
  pieces: Iterable<string>,
  pace: Pace,
): Promise<void> {
  let text = "";
  let sink: PieceSink | undefined;
  for (const piece of pieces) {
    text += piece;
    if (text.length < pieceCharacters) continue;
    sink ??= openPieces(request, response);
    if (!(await sink.write(text))) return;
    text = "";
    await pace.pause();
  }
  if (!sink) sendText(request, response, 200, text);
  else if (await sink.write(text)) sink.end();
}

interface PieceSink {
  /** False when the client is gone. */
  write(text: string): Promise<boolean>;
  end(): void;
}

function openPieces(request: Request, response: Response): PieceSink {
  const packed = acceptsGzip(request) ? createGzip({ level: 1 }) : undefined;
  const target: Writable = packed ?? (response as unknown as Writable);
  let [closed, waiting] = [false, (): void => {}];
  response.on("close", () => {
    closed = true;
    packed?.destroy();
    waiting();
  });
  target.on("drain", () => waiting());
  response.statusCode = 200;
  setHeaders(response, { ...jsonHeaders, ...(packed ? { "content-encoding": "gzip" } : {}) });
  packed?.pipe(response as unknown as Writable);
  return {
    async write(text) {
      if (closed) return false;
      if (!target.write(text))
        await new Promise<void>((resolve) => {
          waiting = resolve;
        });
      return !closed;
    },
    end: () => void target.end(),
  };
}
