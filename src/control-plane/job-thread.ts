/**
 * Jobs that are too much for the event loop in; their answers out, made in a thread of their own one after the other. What
 * takes too long or too much memory there ends that thread, and nobody else waits for it.
 */
import { Worker } from "node:worker_threads";
import { FairleadError } from "../lib/index.ts";

/** What a thread sends for each job. */
export type JobAnswer<A> = { readonly answer: A } | { readonly fault: string };

export interface JobThreadOptions {
  /** Beside the file that asks for it; in a bundle, beside its chunk. */
  readonly script: URL;
  readonly data?: unknown;
  /** Of one job. */
  readonly timeoutMs: number;
  readonly maxWaitingChars: number;
  readonly maxWaiting: number;
  readonly maxHeapMb: number;
  /** How long the thread stays when there is nothing to do. */
  readonly idleMs: number;
  /** How a job that failed is told of, and too many that wait. */
  readonly words: { readonly failed: string; readonly slow: string; readonly full: string };
  /** Before each job: what the thread has to know for it. `isNew`: it knows nothing yet. */
  readonly prepare?: (tell: (news: unknown) => void, isNew: boolean) => Promise<void>;
}

export interface JobThread<Q, A> {
  /**
   * Rejects with `unavailable` where too much is waiting, and with `too-large` where a job takes too much. Whose signal comes
   * while it waits has no turn; one that has begun is ended by nothing but its time, as the thread would begin anew.
   */
  run(job: Q, chars: number, signal?: AbortSignal): Promise<A>;
  close(): Promise<void>;
}

interface Job<Q, A> {
  readonly question: Q;
  readonly chars: number;
  readonly done: PromiseWithResolvers<A>;
}

export function createJobThread<Q, A>(options: JobThreadOptions): JobThread<Q, A> {
  const {
    script,
    data,
    timeoutMs,
    maxWaitingChars,
    maxWaiting,
    maxHeapMb,
    idleMs,
    words,
    prepare = async () => {},
  } = options;
  const waiting: Job<Q, A>[] = [];
  let waitingChars = 0;
  let worker: Worker | undefined;
  let current: Job<Q, A> | undefined;
  let timer: NodeJS.Timeout | undefined;

  function start(): Worker {
    const started = new Worker(script, { workerData: data, resourceLimits: { maxOldGenerationSizeMb: maxHeapMb } });
    started.unref();
    started.on("message", (message: JobAnswer<A>) => {
      // One that was ended may have answered by then: that is no answer to the next job.
      if (worker !== started) return;
      if ("answer" in message) settle((job) => job.done.resolve(message.answer));
      else settle((job) => job.done.reject(new FairleadError("internal", message.fault)));
    });
    started.on("error", (error) => fail(started, `${words.failed}: ${error.message}`));
    return started;
  }

  function settle(act: (job: Job<Q, A>) => void): void {
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
    const { question, chars } = current;
    waitingChars -= chars;
    const isNew = !worker;
    const busy = worker ?? start();
    worker = busy;
    timer = setTimeout(() => fail(busy, `${words.slow} ${timeoutMs} ms`), timeoutMs);
    prepare((news) => busy.postMessage(news), isNew).then(
      () => worker === busy && busy.postMessage(question),
      (error: unknown) => fail(busy, `${words.failed}: ${FairleadError.from(error).message}`),
    );
  }

  function leave(job: Job<Q, A>): void {
    const at = waiting.indexOf(job);
    if (at >= 0) {
      waiting.splice(at, 1);
      waitingChars -= job.chars;
    }
    job.done.reject(gone());
  }

  function rest(): void {
    void worker?.terminate();
    worker = undefined;
  }

  return {
    run(question, chars, signal) {
      if (signal?.aborted) return Promise.reject(gone());
      if (waitingChars + chars > maxWaitingChars || waiting.length >= maxWaiting)
        return Promise.reject(new FairleadError("unavailable", words.full));
      const done = Promise.withResolvers<A>();
      const job = { question, chars, done };
      waiting.push(job);
      waitingChars += chars;
      const onGone = (): void => leave(job);
      signal?.addEventListener("abort", onGone, { once: true });
      const forget = (): void => signal?.removeEventListener("abort", onGone);
      done.promise.then(forget, forget);
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

const gone = (): FairleadError => new FairleadError("unavailable", "who asked has gone");

/** Where the script of a thread is that stands beside a file. */
export const threadScript = (name: string, beside: string): URL =>
  new URL(`./${name}${beside.endsWith(".ts") ? ".ts" : ".js"}`, beside);
