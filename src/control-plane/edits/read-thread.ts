/** What somebody has written on the page in; the objects in it out, read in a thread of its own where it is long. */
import type { ApplyQuestion } from "../../dashboard/index.ts";
import { FairleadError } from "../../lib/index.ts";
import { createJobThread, threadScript } from "../job-thread.ts";
import { readObjects, type Wish } from "./read-objects.ts";
import type { ReadAnswer } from "./read-worker.ts";

/** A megabyte of YAML takes a second. */
const mostOnLoop = 32 * 1024;

export function createReadThread(): (question: ApplyQuestion) => Promise<readonly Wish[]> {
  const thread = createJobThread<ApplyQuestion, ReadAnswer>({
    script: threadScript("read-worker", import.meta.url),
    // It goes by itself, soon: hardly anybody writes so much.
    ...{ timeoutMs: 10_000, maxWaitingChars: 8 * 1024 * 1024, maxWaiting: 32, maxHeapMb: 256, idleMs: 5_000 },
    words: {
      failed: "the objects could not be read",
      slow: "to read the objects takes more than",
      full: "too many large objects wait to be read",
    },
  });
  return async (question) => {
    if (question.objects.length <= mostOnLoop) return readObjects(question);
    const answer = await thread.run(question, question.objects.length);
    if ("wishes" in answer) return answer.wishes;
    const { code, message, hint } = answer;
    throw new FairleadError(code, message, hint === undefined ? {} : { hint });
  };
}
