/** What was found out in; the answer that people and programs read out. */
import type { Explanation, Outcome, Possibilities, Step } from "../../explain/index.ts";
import type { WhyAnswer } from "../../read-api/index.ts";
import { decidersOf, fieldAndPlace, type Sources, showDecider } from "./provenance.ts";

export interface Report {
  readonly request: string;
  /** What a line of an access log said, in words. */
  readonly logged?: string;
  readonly possibilities: Possibilities;
  readonly assumptions: readonly string[];
  readonly sources: Sources;
}

const grpcNames: ReadonlyMap<number, string> = new Map([
  [7, "PERMISSION_DENIED"],
  [12, "UNIMPLEMENTED"],
  [13, "INTERNAL"],
  [14, "UNAVAILABLE"],
  [16, "UNAUTHENTICATED"],
]);

/** `403`, `503 UF`, `gRPC 7 (PERMISSION_DENIED)`, `connection closed`, `reaches 10.0.0.1:8080`. */
function outcomeWord(outcome: Outcome): string {
  if (outcome.kind === "reached") return `reaches ${outcome.endpoint || "its destination"}`;
  const flags = outcome.flags.length === 0 ? "" : ` ${outcome.flags.join(",")}`;
  if (outcome.kind === "closed") return `connection closed${flags}`;
  if (outcome.grpcStatus !== undefined)
    return `gRPC ${outcome.grpcStatus}${grpcNames.has(outcome.grpcStatus) ? ` (${grpcNames.get(outcome.grpcStatus)})` : ""}${flags}`;
  return `${outcome.status}${flags}`;
}

export function verdictLine(explanation: Explanation, sources: Sources): string {
  const { outcome } = explanation;
  const word = outcomeWord(outcome);
  if (outcome.kind === "reached") {
    const [hop] = explanation.hops;
    const cluster = hop && hop.cluster !== "" && !hop.cluster.startsWith("inbound|") ? ` of ${hop.cluster}` : "";
    const route = hop && hop.route !== "" && hop.route !== "default" ? ` by route ${hop.route}` : "";
    return `${word}${cluster}${route}`;
  }
  const step = decidingStep(explanation);
  const [decider] = step ? decidersOf(step, sources) : [];
  const location = outcome.kind === "answered" && outcome.location !== undefined ? ` to ${outcome.location}` : "";
  const why = step ? step.decision.replace(/^refused: /, "").replace(/ matches$/, "") : outcome.details;
  // The words of a rule name its object already.
  const named =
    decider && why.includes(decider.object.replace("/", " "))
      ? fieldAndPlace(decider)
      : decider
        ? `, ${showDecider(decider)}`
        : "";
  return `${word}${location}: ${why}${named}`;
}

/** The last one; where a route answers itself, the route. */
function decidingStep({ steps, decidedAt }: Explanation): Step | undefined {
  return steps[decidedAt];
}

/** Answers are copied into tickets: no token that was asked with stands in them. */
export function answerOf(report: Report): WhyAnswer {
  const hide = (_key: string, value: unknown): unknown => (typeof value === "string" ? withoutTokens(value) : value);
  return JSON.parse(JSON.stringify(wholeAnswer(report)), hide) as WhyAnswer;
}

/** Two parts in base64 of JSON and a signature; and what a path may carry any sort of token as. */
const withoutTokens = (text: string): string =>
  text.replaceAll(/eyJ[\w-]+\.eyJ[\w-]+\.[\w-]*/g, "[token]").replaceAll(/([?&]access_token=)[^&\s]+/g, "$1[token]");

function wholeAnswer({ request, logged, possibilities, assumptions, sources }: Report): WhyAnswer {
  const { main, outcomes, unfollowed } = possibilities;
  const step = decidingStep(main);
  return {
    request,
    ...(logged === undefined ? {} : { logged }),
    verdict: {
      ...main.outcome,
      text: verdictLine(main, sources),
      deciders: step && main.outcome.kind !== "reached" ? decidersOf(step, sources) : [],
    },
    odds: outcomes.map(({ odds, outcome, example }) => ({ odds, ...outcome, text: verdictLine(example, sources) })),
    unfollowed,
    hops: main.hops,
    steps: main.steps.map((one) => ({
      ...{ proxy: one.proxy, stage: one.stage, decision: one.decision, lost: one.lost },
      ...(one.odds === undefined ? {} : { odds: one.odds }),
      ...(one.resource ? { resource: one.resource } : {}),
      deciders: decidersOf(one, sources),
    })),
    assumptions: [...assumptions, ...main.assumptions],
  };
}
