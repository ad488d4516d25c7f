/** Bodies of admission requests that are too large for the event loop in; verdicts out, made in a thread of their own. */
import { createJobThread, threadScript } from "./job-thread.ts";
import type { BodyReview } from "./review-body.ts";

export interface ReviewThread {
  /** Rejects with `unavailable` where too much is waiting, and with `too-large` where a review takes too much. */
  review(body: string, signal?: AbortSignal): Promise<BodyReview>;
  close(): Promise<void>;
}

export interface ReviewThreadOptions {
  /** Of one review: nobody waits for a webhook for longer. */
  readonly timeoutMs?: number;
  readonly maxWaitingChars?: number;
  readonly maxWaiting?: number;
  readonly maxHeapMb?: number;
  /** How long the thread stays when there is nothing to do. */
  readonly idleMs?: number;
}

export function createReviewThread(options: ReviewThreadOptions = {}): ReviewThread {
  const thread = createJobThread<string, BodyReview>({
    script: threadScript("review-worker", import.meta.url),
    ...{ timeoutMs: 10_000, maxWaitingChars: 32 * 1024 * 1024, maxWaiting: 1000, maxHeapMb: 256, idleMs: 60_000 },
    ...options,
    words: {
      failed: "the object could not be checked",
      slow: "to check the object takes more than",
      full: "too many large objects wait to be checked",
    },
  });
  return { review: (body, signal) => thread.run(body, body.length, signal), close: thread.close };
}
