/** Live requests: those with one end at least that is seen; of the other nothing is said where it is not. */
import { FairleadError } from "../../../lib/index.ts";
import type { LiveRequest, LiveRequestReads, TapAnswer } from "../../../read-api/index.ts";
import type { Sight } from "./sight.ts";

export function visibleLiveRequests(reads: LiveRequestReads, sight: Sight): LiveRequestReads {
  return {
    async liveRequests(query) {
      const sees = await sight.pods();
      // Looking costs agents something, and few can look at once.
      if (!query.has("session") && !sees(query.get("namespace") ?? ""))
        throw new FairleadError("forbidden", "you may look at requests of namespaces alone that you may see", {
          hint: "choose one of these",
        });
      return seenRequests(await reads.liveRequests(query), sight);
    },
  };
}

const nobody = { namespace: "", workload: "", app: "", version: "" };
const noService = { host: "", name: "", namespace: "" };

async function seenRequests(answer: TapAnswer, sight: Sight): Promise<TapAnswer> {
  const [sees, names] = [await sight.pods(), await sight.hiddenNames()];
  const requests = answer.requests.flatMap((request): readonly LiveRequest[] => {
    const { source, destination, side } = request;
    const [from, to] = [sees(source.namespace), sees(destination.namespace)];
    if (!from && !to) return [];
    const masked = { ...request, source: from ? source : nobody, destination: to ? destination : nobody };
    const seen = (side === "source" ? to : from) ? masked : { ...masked, peerAddress: "" };
    return [to ? seen : { ...seen, service: noService, authority: "" }];
  });
  return { ...answer, requests: requests.filter((request) => !names(JSON.stringify(request))) };
}
