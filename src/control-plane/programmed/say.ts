/** A verdict in; the condition that says it, in words too, out. */
import type { ObjectVerdict } from "./programmed.ts";

export type Reason = "Programmed" | "NoProxyAffected" | "RejectedByProxy" | "Pending";

export interface Said {
  readonly isDone: boolean;
  readonly reason: Reason;
  readonly message: string;
}

/** How many are named; the others are counted. */
const maxNamed = 5;
const maxMessage = 2_000;

/** `replicas`: how many control planes there are, where others may have proxies of their own. */
export function sayVerdict(verdict: ObjectVerdict, replicas = 1): Said {
  const { affected, acknowledged, refusing, waiting, generation, isMade } = verdict;
  const what = generation === undefined ? "it" : `generation ${generation}`;
  if (!isMade) return { isDone: false, reason: "Pending", message: `${what} is not rendered yet` };
  if (affected === 0)
    return {
      isDone: true,
      reason: "NoProxyAffected",
      message: `0/0: no connected proxy${replicas > 1 ? ` of one of ${replicas} control planes` : ""} is sent anything because of it`,
    };
  const whose = replicas > 1 ? ` of one of ${replicas} control planes` : "";
  const count = `${acknowledged}/${affected} proxies${whose} have acknowledged ${what}`;
  const refusals = refusing.slice(0, maxNamed).map(({ proxy, part, words }) => `${proxy} refused ${part}: ${words}`);
  const more = refusing.length > maxNamed ? [`${refusing.length - maxNamed} more refused it`] : [];
  const silent = waiting.length > 0 ? [`no answer yet of ${named(waiting)}`] : [];
  const message = [count, ...refusals, ...more, ...silent].join("; ");
  const reason = refusing.length > 0 ? "RejectedByProxy" : waiting.length > 0 ? "Pending" : "Programmed";
  return {
    isDone: reason === "Programmed",
    reason,
    message: message.length > maxMessage ? `${message.slice(0, maxMessage)}…` : message,
  };
}

function named(proxies: readonly string[]): string {
  const some = proxies.slice(0, maxNamed).join(", ");
  return proxies.length > maxNamed ? `${some} and ${proxies.length - maxNamed} more` : some;
}
