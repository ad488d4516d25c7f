/** An answer in, bytes on the wire out; HTTP/1.1 and HTTP/2 alike. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import { finished } from "node:stream/promises";
import { createGzip, gzip } from "node:zlib";
import { printable } from "../lib/index.ts";
import type { Pace } from "./pace.ts";
import type { WatchSink } from "./watch.ts";

export type Request = IncomingMessage | Http2ServerRequest;
export type Response = ServerResponse | Http2ServerResponse;

const gzipFrom = 128 * 1024;
/** Less goes out in one piece, with its length. Well below what a socket takes before it asks for a pause (64 KiB). */
const pieceBytes = 32 * 1024;
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

export function sendText(
  request: Request,
  response: Response,
  code: number,
  text: string,
  headers: Headers = {},
): void {
  const send = (data: Buffer, extra: Headers): void => {
    if (response.destroyed || response.writableEnded) return;
    setHeaders(response, { ...jsonHeaders, ...headers, ...extra, "content-length": String(data.length) });
    response.statusCode = code;
    if (request.method === "HEAD") end(response);
    else void endInPieces(response, data);
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
  void endInPieces(response, data);
}

/**
 * Over HTTP/1.1 no more is ever handed over than the socket takes without asking for a pause. Otherwise a client that has
 * its answer, and sends its next request before we are told that all of it is out, meets a parser that is paused, and
 * node then resets the connection.
 */
async function endInPieces(response: Response, data: Buffer): Promise<void> {
  if ("stream" in response || data.length <= pieceBytes) {
    end(response, data);
    return;
  }
  for (let at = 0; at < data.length; at += pieceBytes)
    if (!(await flushed(response, data.subarray(at, at + pieceBytes)))) return;
  end(response);
}

/** Resolves when the piece is out: true, or when the client is gone: false. */
function flushed(response: Response, piece: string | Buffer): Promise<boolean> {
  if (response.destroyed || response.closed) return Promise.resolve(false);
  const write = response.write.bind(response) as (chunk: string | Buffer, done: (error?: unknown) => void) => boolean;
  return new Promise((resolve) => {
    const gone = (): void => resolve(false);
    response.once("close", gone);
    write(piece, (error) => {
      response.off("close", gone);
      resolve(error === undefined || error === null);
    });
  });
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
      if (closed) return;
      // Its client may send another request as soon as it has the end: by then all else is to be out.
      if (response.writableNeedDrain) response.once("drain", () => end(response));
      else end(response);
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
  let write: ((text: string) => Promise<boolean>) | undefined;
  for (const piece of pieces) {
    text += piece;
    if (text.length < pieceBytes) continue;
    write ??= beginPieces(request, response);
    if (!(await write(text))) return;
    text = "";
    await pace.pause();
  }
  if (!write) sendText(request, response, 200, text);
  else if ((await write(text)) && (await write(""))) end(response);
}

/** A writer of texts: false when the client is gone; the empty text is the last. */
function beginPieces(request: Request, response: Response): (text: string) => Promise<boolean> {
  response.statusCode = 200;
  const isPacked = acceptsGzip(request);
  setHeaders(response, { ...jsonHeaders, ...(isPacked ? { "content-encoding": "gzip" } : {}) });
  const writeAll = async (data: Buffer): Promise<boolean> => {
    for (let at = 0; at < data.length; at += pieceBytes)
      if (!(await flushed(response, data.subarray(at, at + pieceBytes)))) return false;
    return !response.destroyed;
  };
  if (!isPacked) return (text) => writeAll(Buffer.from(text));
  const pack = createPacker();
  return async (text) => writeAll(await pack(text));
}

/** Texts in, what has come out of the packing by then out; the empty text is the last, with all that is left. */
function createPacker(): (text: string) => Promise<Buffer> {
  const packer = createGzip({ level: 1 });
  const chunks: Buffer[] = [];
  packer.on("data", (chunk: Buffer) => chunks.push(chunk));
  return async (text) => {
    if (text === "") await finished(packer.end());
    else await new Promise((resolve) => packer.write(text, resolve));
    return Buffer.concat(chunks.splice(0));
  };
}
