/** A request's stream in; all of its body, inflated, out, where it is not too large and others leave room for it. */
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { collectBytes, type Inflow } from "../lib/index.ts";
import { failure } from "./failure.ts";
import { maxBodyBytes } from "./limits.ts";

/** Of a body that is too large anyway. */
const maxDrainedBytes = 16 * maxBodyBytes;

/** Of all bodies together that have come in part. */
export const maxInflowBytes = 40 * maxBodyBytes;

interface BodyOptions {
  readonly encoding: string | undefined;
  readonly inflow: Inflow;
  /** Whose it is. */
  readonly client: string;
}

/** What is refused is not kept, but read on: a client that is cut off in the middle would never learn why. */
export function readBody(stream: Readable, { encoding, inflow, client }: BodyOptions): Promise<Buffer> {
  const source = encoding === "gzip" ? stream.pipe(createGunzip()) : stream;
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  let bytes = collectBytes();
  let size = 0;
  let isRefused = false;
  const part = inflow.open(client, () =>
    refuse(failure("TooManyRequests", "too many large bodies come at once: try again", { retryAfterSeconds: 1 })),
  );

  function refuse(error: Error): void {
    isRefused = true;
    bytes = collectBytes();
    part.close();
    reject(error);
    if (source !== stream) {
      stream.unpipe();
      source.destroy();
    }
    stream.resume();
  }

  source.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size > maxDrainedBytes) stream.destroy();
    if (isRefused) return;
    // Also what a compressed body grows to counts.
    if (size > maxBodyBytes) {
      refuse(failure("RequestEntityTooLarge", `Request entity too large: limit is ${maxBodyBytes}`));
      return;
    }
    bytes.add(chunk);
    part.hold(size);
  });
  let hasEnded = false;
  const unreadable = (): void => {
    part.close();
    if (!hasEnded) reject(failure("BadRequest", "the request's body could not be read"));
  };
  source.on("end", () => {
    hasEnded = true;
    part.close();
    resolve(bytes.whole());
  });
  source.on("error", () => {
    unreadable();
    stream.resume();
  });
  stream.on("error", unreadable);
  stream.on("aborted", unreadable);
  // All of it may be here, and still to be inflated.
  stream.on("close", () => stream.readableEnded || unreadable());
  return promise;
}
