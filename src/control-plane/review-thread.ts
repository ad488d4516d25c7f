/**
 * Bodies of admission requests that are too large for the event loop in; verdicts out, made in a thread of their own one
 * after the other. What takes too long or too much memory there ends that thread, and nobody else waits for it.
 */
import { Worker } from "node:worker_threads";
import { FairleadError } from "../lib/index.ts";
import type { BodyReview } from "./review-body.ts";
import type { ReviewAnswer } from "./review-worker.ts";

export interface ReviewThread {
  /** Rejects with `unavailable` where too much is waiting, and with `too-large` where a review takes too much. */
  review(body: string): Promise<BodyReview>;
  close(): Promise<void>;
}

export interface ReviewThreadOptions {
  /** Of one review: nobody waits for a webhook for longer. */
  readonly timeoutMs?: number;
  readonly maxWaitingChars?: number;
  readonly maxHeapMb?: number;
  /** How long the thread stays when there is nothing to do. */
  readonly idleMs?: number;
}

interface Job {
  readonly body: string;
  readonly done: PromiseWithResolvers<BodyReview>;
}

/** Beside this file; in a bundle, beside its chunk. */
const script = new URL(import.meta.url.endsWith(".ts") ? "./review-worker.ts" : "./review-worker.js", import.meta.url);

export function createReviewThread(options: ReviewThreadOptions = {}): ReviewThread {
  const { timeoutMs = 10_000, maxWaitingChars = 32 * 1024 * 1024, maxHeapMb = 256, idleMs = 60_000 } = options;
  const waiting: Job[] = [];
  let waitingChars = 0;
  let worker: Worker | undefined;
  let current: Job | undefined;
  let timer: NodeJS.Timeout | undefined;

  function start(): Worker {
    const started = new Worker(script, { resourceLimits: { maxOldGenerationSizeMb: maxHeapMb } });
    started.unref();
    started.on("message", (answer: ReviewAnswer) => {
      if ("review" in answer) settle((job) => job.done.resolve(answer.review));
      else settle((job) => job.done.reject(new FairleadError("internal", answer.fault)));
    });
    started.on("error", (error) => fail(started, `the object could not be checked: ${error.message}`));
    return started;
  }

  function settle(act: (job: Job) => void): void {
    clearTimeout(timer);
    const job = current;
    current = undefined;
    if (job) act(job);
    next();
  }

  function fail(failed: Worker, why: string): void {
    if (worker !== failed) return;
    worker = undefined;
    void failed.terminate();
    settle((job) => job.done.reject(new FairleadError("too-large", why)));
  }

  function next(): void {
    if (current) return;
    current = waiting.shift();
    if (!current) {
      timer = setTimeout(rest, idleMs).unref();
      return;
    }
    waitingChars -= current.body.length;
    const busy = worker ?? start();
    worker = busy;
    timer = setTimeout(() => fail(busy, `the object takes more than ${timeoutMs} ms to check`), timeoutMs);
    busy.postMessage(current.body);
  }

  function rest(): void {
    void worker?.terminate();
    worker = undefined;
  }

  return {
    review(body) {
      if (waitingChars + body.length > maxWaitingChars)
        return Promise.reject(new FairleadError("unavailable", "too many large objects wait to be checked"));
      const done = Promise.withResolvers<BodyReview>();
      waiting.push({ body, done });
      waitingChars += body.length;
      if (!current) clearTimeout(timer);
      next();
      return done.promise;
    },
    async close() {
      clearTimeout(timer);
      for (const { done } of [...waiting.splice(0), ...(current ? [current] : [])])
        done.reject(new FairleadError("unavailable", "the server stops"));
      waitingChars = 0;
      current = undefined;
      await worker?.terminate();
      worker = undefined;
    },
  };
}
