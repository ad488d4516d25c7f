/** Bodies of admission requests in, one at a time, from the thread that serves them; verdicts, or what went wrong, out. */
import { parentPort } from "node:worker_threads";
import { type BodyReview, reviewBody } from "./review-body.ts";

export type ReviewAnswer = { readonly review: BodyReview } | { readonly fault: string };

async function answerTo(body: string): Promise<ReviewAnswer> {
  try {
    return { review: await reviewBody(body) };
  } catch (error) {
    return { fault: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

parentPort?.on("message", async (body: string) => {
  parentPort?.postMessage(await answerTo(body));
});
