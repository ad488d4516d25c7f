/** Texts of the page in, one at a time, from the thread that serves it; the objects in them, or what is wrong, out. */
import { parentPort } from "node:worker_threads";
import type { ApplyQuestion } from "../../dashboard/index.ts";
import { FairleadError } from "../../lib/index.ts";
import type { JobAnswer } from "../job-thread.ts";
import { readObjects, type Wish } from "./read-objects.ts";

export type ReadAnswer =
  | { readonly wishes: readonly Wish[] }
  | { readonly code: FairleadError["code"]; readonly message: string; readonly hint: string | undefined };

function read(question: ApplyQuestion): JobAnswer<ReadAnswer> {
  try {
    return { answer: { wishes: readObjects(question) } };
  } catch (thrown) {
    const { code, message, hint } = FairleadError.from(thrown);
    return code === "internal" ? { fault: message } : { answer: { code, message, hint } };
  }
}

parentPort?.on("message", (question: ApplyQuestion) => parentPort?.postMessage(read(question)));
