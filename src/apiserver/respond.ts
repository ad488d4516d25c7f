/** An answer in, bytes on the wire out; HTTP/1.1 and HTTP/2 alike. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import { gzip } from "node:zlib";
import { printable } from "../lib/index.ts";
import type { WatchSink } from "./watch.ts";

export type Request = IncomingMessage | Http2ServerRequest;
export type Response = ServerResponse | Http2ServerResponse;

const gzipFrom = 128 * 1024;
/** A client that reads slower than this falls behind is cut off; it lists again. */
const maxBufferedBytes = 16 * 1024 * 1024;

export function headerOf(request: Request, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(", ") : value;
}

/** Each line of a header that may be repeated, as it was sent: a comma is part of its value. */
export function headersOf(request: Request, name: string): readonly string[] {
  return request.rawHeaders.filter((_, i) => i % 2 === 1 && request.rawHeaders[i - 1]?.toLowerCase() === name);
}

/** RFC 7234 warnings, as kubectl prints them. */
export function warningHeader(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].map((text) => `299 - "${printable(text).replace(/["\\]/g, "\\$&")}"`);
}

export function sendJson(
  request: Request,
  response: Response,
  code: number,
  body: unknown,
  headers: Readonly<Record<string, string | readonly string[]>> = {},
): void {
  const bytes = Buffer.from(`${JSON.stringify(body)}\n`);
  const send = (data: Buffer, extra: Readonly<Record<string, string>>): void => {
    if (response.destroyed || response.writableEnded) return;
    for (const [name, value] of Object.entries({
      "content-type": "application/json",
      "cache-control": "no-cache, private",
      ...headers,
      ...extra,
    }))
      response.setHeader(name, value);
    response.statusCode = code;
    response.setHeader("content-length", String(data.length));
    if (request.method === "HEAD") end(response);
    else end(response, data);
  };
  if (bytes.length < gzipFrom || !(headerOf(request, "accept-encoding") ?? "").includes("gzip")) {
    send(bytes, {});
    return;
  }
  gzip(bytes, { level: 1 }, (error, packed) =>
    error ? send(bytes, {}) : send(packed, { "content-encoding": "gzip" }),
  );
}

export function sendBytes(response: Response, data: Buffer, contentType: string): void {
  response.setHeader("content-type", contentType);
  response.setHeader("content-length", String(data.length));
  end(response, data);
}

function end(response: Response, data?: Buffer): void {
  // The two classes declare the same method in types that do not unite.
  const write = response.end.bind(response) as (chunk?: Buffer) => unknown;
  write(data);
}

export function streamSink(response: Response): WatchSink {
  response.statusCode = 200;
  response.setHeader("content-type", "application/json");
  response.setHeader("cache-control", "no-cache, private");
  if ("flushHeaders" in response) response.flushHeaders();
  const write = response.write.bind(response) as (chunk: string) => boolean;
  // HTTP/2's own class does not count for itself.
  const buffered = (): number =>
    "stream" in response && response.stream
      ? response.stream.writableLength
      : (response as ServerResponse).writableLength;
  let closed = false;
  response.on("close", () => {
    closed = true;
  });
  return {
    write(line) {
      if (closed) return;
      write(line);
      if (buffered() > maxBufferedBytes) response.destroy();
    },
    end() {
      if (!closed) end(response);
    },
    onClose(listener) {
      if (closed) listener();
      else response.on("close", listener);
    },
  };
}
