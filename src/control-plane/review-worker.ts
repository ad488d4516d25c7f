/** Bodies of admission requests in, one at a time, from the thread that serves them; verdicts, or what went wrong, out. */
import { parentPort } from "node:worker_threads";
import type { JobAnswer } from "./job-thread.ts";
import { type BodyReview, reviewBody } from "./review-body.ts";

async function answerTo(body: string): Promise<JobAnswer<BodyReview>> {
  try {
    return { answer: await reviewBody(body) };
  } catch (error) {
    return { fault: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

parentPort?.on("message", async (body: string) => {
  parentPort?.postMessage(await answerTo(body));
});
