/** News of the mesh and questions in, from the thread that serves them; answers out, one after the other. */
import { parentPort, workerData } from "node:worker_threads";
import type { DiffAnswer, DiffQuestion, Mistake } from "../../read-api/index.ts";
import type { JobAnswer } from "../job-thread.ts";
import { createShadow, type ShadowNews } from "./shadow.ts";
import type { StatesOptions } from "./states.ts";

export type ShadowMessage = { readonly news: ShadowNews } | { readonly question: DiffQuestion };

const shadow = createShadow(workerData as NonNullable<StatesOptions["settings"]>);
/** What is asked while it goes back to what there is waits for that. */
let busy: Promise<void> = Promise.resolve();

async function answerTo(question: DiffQuestion): Promise<JobAnswer<DiffAnswer | Mistake>> {
  try {
    return { answer: await shadow.ask(question) };
  } catch (error) {
    return { fault: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

parentPort?.on("message", (message: ShadowMessage) => {
  busy = busy.then(async () => {
    if ("news" in message) return shadow.follow(message.news);
    parentPort?.postMessage(await answerTo(message.question));
    await shadow.rest();
  });
});
