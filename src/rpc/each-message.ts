/** A stream in; each of its messages handed over as it comes, with nothing between where the taker is done at once. */
import type { Readable } from "node:stream";
import { createFrames, inflated, type ReadOptions } from "./frame.ts";
import { RpcError, status } from "./status.ts";

/** What comes next waits for the promise, where there is one. */
export type Take<T> = (message: T) => Promise<void> | undefined;

export interface EachOptions extends ReadOptions {
  /** Where one message is all there is: its end is waited for no longer either. */
  readonly untilEnd?: boolean;
}

/** Resolves at the stream's end; rejects with what the taker throws, and for what is no message. */
export function eachMessage(stream: Readable, options: EachOptions, take: Take<Uint8Array>): Promise<void> {
  const frames = createFrames(options.maxBytes);
  const done = Promise.withResolvers<void>();
  let timer = stalled(options.stallMs);
  let waits = false;
  let isOver = false;
  let hasEnded = false;

  function stalled(ms: number | undefined): NodeJS.Timeout | undefined {
    if (ms === undefined) return undefined;
    const late = (): void => fail(new RpcError(status.deadlineExceeded, `no message came within ${ms / 1000} s`));
    return setTimeout(late, ms);
  }

  function settle(act: () => void): void {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    stream.off("data", onData).off("end", onEnd).off("close", onClose);
    stream.pause();
    act();
  }

  const fail = (error: unknown): void => settle(() => done.reject(error));

  function handOver(): void {
    try {
      for (let frame = frames.take(); frame && !isOver; frame = frames.take()) {
        const taken = frame.compressed ? inflated(frame.bytes, options).then(take) : take(frame.bytes);
        if (!taken) continue;
        waits = true;
        stream.pause();
        taken.then(goOn, fail);
        return;
      }
      if (hasEnded) finish();
      // A message that has begun must go on.
      else if (options.untilEnd || frames.isInside()) timer ??= stalled(options.stallMs);
    } catch (error) {
      fail(error);
    }
  }

  function goOn(): void {
    waits = false;
    if (!isOver && !hasEnded) stream.resume();
    handOver();
  }

  function finish(): void {
    frames.end();
    settle(done.resolve);
  }

  function onData(chunk: Uint8Array): void {
    if (timer) clearTimeout(timer);
    timer = undefined;
    frames.push(chunk);
    if (!waits) handOver();
  }

  function onEnd(): void {
    hasEnded = true;
    if (!waits) handOver();
  }

  function onClose(): void {
    if (!hasEnded) fail(new RpcError(status.cancelled, "the client has gone"));
  }

  stream.on("data", onData).on("end", onEnd).on("close", onClose);
  if (stream.destroyed) onClose();
  return done.promise;
}
