/** A stream in; each of its messages handed over as it comes, with nothing between where the taker is done at once. */
import type { Readable } from "node:stream";
import type { Inflow, InflowPart } from "../lib/index.ts";
import { createFrames, inflated, type ReadOptions } from "./frame.ts";
import { RpcError, status } from "./status.ts";

/** What comes next waits for the promise, where there is one. */
export type Take<T> = (message: T) => Promise<void> | undefined;

export interface EachOptions extends ReadOptions {
  /** Of the call: aborted once it is over, for whatever reason. */
  readonly signal: AbortSignal;
  /** Where one message is all there is: its end is waited for no longer either. */
  readonly untilEnd?: boolean;
  /** Counts what has come of messages that are not whole, as this client's. */
  readonly inflow?: Inflow;
  readonly client?: string;
}

/**
 * Resolves at the stream's end; rejects with what the taker throws, and for what is no message. Nothing is handed over once
 * the call is over: what a message opens then, nobody would close.
 */
export function eachMessage(stream: Readable, options: EachOptions, take: Take<Uint8Array>): Promise<void> {
  const frames = createFrames(options.maxBytes);
  const done = Promise.withResolvers<void>();
  let timer = stalled(options.stallMs);
  let waits = false;
  let isOver = false;
  let hasEnded = false;
  /** Only while part of a message is there: most streams are silent. */
  let part: InflowPart | undefined;

  function count(): void {
    const size = isOver ? 0 : frames.size();
    if (size > 0) {
      part ??= options.inflow?.open(options.client ?? "", giveWay);
      part?.hold(size);
    } else {
      part?.close();
      part = undefined;
    }
  }

  const giveWay = (): void =>
    fail(new RpcError(status.resourceExhausted, "too many large messages come at once: try again"));

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
    part?.close();
    act();
  }

  const fail = (error: unknown): void => settle(() => done.reject(error));

  function hand(message: Uint8Array): Promise<void> | undefined {
    options.signal.throwIfAborted();
    return isOver ? undefined : take(message);
  }

  function handOver(): void {
    try {
      for (let frame = frames.take(); frame && !isOver; frame = frames.take()) {
        const taken = frame.compressed ? inflated(frame.bytes, options).then(hand) : hand(frame.bytes);
        if (!taken) continue;
        waits = true;
        stream.pause();
        taken.then(goOn, fail);
        return;
      }
      if (isOver) return;
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
    count();
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
    count();
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
