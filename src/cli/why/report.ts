/** What was found out in; the lines that a person reads, or the JSON that programs read, out. */
import { type Explanation, type Outcome, type Possibilities, percent, type Step } from "../../explain/index.ts";
import { printable } from "../../lib/index.ts";
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

export function textReport({ request, logged, possibilities, assumptions, sources }: Report): string {
  const { main, outcomes, unfollowed } = possibilities;
  const lines = [verdictLine(main, sources), `  ${request}`];
  if (logged !== undefined) lines.push(`  the log says ${logged}`);
  if (outcomes.length > 1 || unfollowed > 0) {
    lines.push("", "odds");
    for (const { odds, example } of outcomes)
      lines.push(`  ${percent(odds).padStart(8)}  ${verdictLine(example, sources)}`);
    if (unfollowed > 0) lines.push(`  ${percent(unfollowed).padStart(8)}  not followed`);
  }
  let proxy = "";
  for (const step of main.steps) {
    if (step.proxy !== proxy) lines.push("", step.proxy);
    proxy = step.proxy;
    const odds = step.odds === undefined ? "" : ` (${percent(step.odds)})`;
    lines.push(`  ${step.stage.padEnd(15)} ${step.decision}${odds}`);
    for (const decider of decidersOf(step, sources)) lines.push(`  ${"".padEnd(15)}   from ${showDecider(decider)}`);
    for (const lost of step.lost) lines.push(`  ${"".padEnd(15)}   not ${lost}`);
  }
  const all = [...assumptions, ...main.assumptions];
  if (all.length > 0) lines.push("", "taken for granted", ...all.map((text) => `  ${text}`));
  return `${lines.map(printable).join("\n")}\n`;
}

/** Objects that decided what becomes of the request, the nearest first. */
export function deciderNames({ possibilities: { main }, sources }: Report): readonly string[] {
  const step = decidingStep(main);
  return step ? [...new Set(decidersOf(step, sources).map(({ object }) => object))] : [];
}

/** The shape is kept: programs read it. */
export function reportData({ request, logged, possibilities, assumptions, sources }: Report): object {
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
    steps: main.steps.map(({ proxy, stage, decision, lost, odds, resource }, i) => ({
      proxy,
      stage,
      decision,
      lost,
      ...(odds === undefined ? {} : { odds }),
      ...(resource ? { resource } : {}),
      deciders: decidersOf(main.steps[i] as Step, sources),
    })),
    assumptions: [...assumptions, ...main.assumptions],
  };
}
