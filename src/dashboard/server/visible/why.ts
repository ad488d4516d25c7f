/** What becomes of a request: told where every proxy on its way, and all that decided there, is seen. */
import type { Mistake, WhyAnswer, WhyReads } from "../../../read-api/index.ts";
import { type KindInNamespace, ofCause, ofProxy } from "./kind-in-namespace.ts";
import type { Sight } from "./sight.ts";

export function visibleWhy(reads: WhyReads, sight: Sight): WhyReads {
  return {
    async why(question) {
      const answer = await reads.why(question);
      if ("error" in answer) return answer.isOfQuestion || (await sight.seesWhole()) ? answer : notAnswered;
      const isSeen = (await sight.seenOne(answer, ofAnswer)) !== undefined;
      const names = await sight.hiddenNames();
      return isSeen && !names(JSON.stringify(answer)) ? answer : notAnswered;
    },
  };
}

/** One for all that cannot be said: which of them it was would tell what there is. */
const notAnswered: Mistake = {
  code: "forbidden",
  error: "There is no such caller or destination, or the request passes something that you may not see.",
  remedy: "Ask about proxies and hosts of namespaces that you may see, with the port.",
};

/** Of the proxies on the way, and of what decided there. */
const ofAnswer = ({ hops, steps }: WhyAnswer): readonly KindInNamespace[] => [
  ...hops.map(({ proxy }) => ofProxy(proxy)),
  ...steps.flatMap(({ deciders }) => deciders.flatMap(ofCause)),
];
