/** What may become of a request, and what is expected, in; what differs out. */
import { decidersOf, type Sources, verdictLine } from "../../control-plane/index.ts";
import { type Explanation, type Outcome, type Possibilities, percent } from "../../explain/index.ts";
import type { Expectation } from "./test-file.ts";

/** Lines that say what is otherwise; none where all is as expected. */
export function judge(found: Possibilities, expect: Expectation, sources: Sources): readonly string[] {
  const { share, ...wanted } = expect;
  const judged = found.outcomes.map(({ odds, example }) => ({
    odds,
    example,
    lines: differences(example, wanted, sources),
  }));
  const holds = judged.filter(({ lines }) => lines.length === 0).reduce((sum, { odds }) => sum + odds, 0);
  if (share !== undefined)
    return Math.abs(holds * 100 - share) < 0.5 ? [] : [`holds for ${percent(holds)} of requests, not for ${share} %`];
  const wrong = judged.filter(({ lines }) => lines.length > 0);
  return wrong.flatMap(({ odds, example, lines }) => [
    ...lines.map((line) => (wrong.length < judged.length ? `${percent(odds)}: ${line}` : line)),
    `  ${verdictLine(example, sources)}`,
  ]);
}

function differences(example: Explanation, expect: Omit<Expectation, "share">, sources: Sources): readonly string[] {
  const lines: string[] = [];
  const { outcome, hops } = example;
  const compare = (what: string, wanted: unknown, is: unknown): void => {
    if (wanted !== undefined && wanted !== is) lines.push(`${what} is ${shown(is)}, not ${shown(wanted)}`);
  };
  const target = parseCluster(hops[0]?.cluster ?? "");
  const { reaches } = expect;
  if (reaches !== undefined && outcome.kind !== "reached") lines.push(`does not reach ${reaches}`);
  if (reaches !== undefined && outcome.kind === "reached") {
    // Who has no proxy names no Service: then it is the Pod that counts.
    const place = target.host || (hops.at(-1)?.proxy ?? "");
    if (!isHost(place, reaches)) lines.push(`reaches ${place}, not ${reaches}`);
  }
  compare("subset", expect.subset, target.subset);
  compare("route", expect.route, hops[0]?.route ?? "");
  compare("status", expect.status, outcome.kind === "answered" ? outcome.status : undefined);
  compare("gRPC status", expect.grpcStatus, outcome.kind === "answered" ? outcome.grpcStatus : undefined);
  compare("redirect", expect.redirect, outcome.kind === "answered" ? outcome.location : undefined);
  compare("closed", expect.closed, outcome.kind === "closed");
  if (expect.by !== undefined && !isDecidedBy(example, expect.by, sources))
    lines.push(`is not decided by ${expect.by}`);
  if (expect.identity !== undefined) compareIdentity(example, expect.identity, lines);
  return lines;
}

const shown = (value: unknown): string => (value === undefined || value === "" ? "none" : String(value));

/** `outbound|9080|v2|reviews.shop.svc.cluster.local`, which is also what a server without a proxy is reached by. */
function parseCluster(name: string): { readonly subset: string; readonly host: string } {
  const [direction = "", , subset = "", host = ""] = name.split("|");
  return direction === "outbound" ? { subset, host } : { subset: "", host: "" };
}

/** By its first names: `reviews`, `reviews.shop`, or all of them. */
const isHost = (host: string, wanted: string): boolean => host === wanted || host.startsWith(`${wanted}.`);

function isDecidedBy({ steps, decidedAt, outcome }: Explanation, wanted: string, sources: Sources): boolean {
  const name = wanted.replace(" ", "/");
  const deciding = outcome.kind === "reached" ? steps : steps.slice(decidedAt, decidedAt + 1);
  return deciding.some((step) => decidersOf(step, sources).some(({ object }) => object === name));
}

/** As the last proxy saw it: the server's own, where it has one. */
function compareIdentity({ hops, outcome }: Explanation, wanted: string, lines: string[]): void {
  const peer = hops.length > 1 || isServer(outcome) ? (hops.at(-1)?.peer ?? "") : "";
  const [, namespace = "", account = ""] = /\/ns\/([^/]+)\/sa\/([^/]+)$/.exec(peer) ?? [];
  const isRight = wanted === "nobody" ? peer === "" : peer === wanted || `${account}.${namespace}` === wanted;
  if (!isRight) lines.push(`the server takes the caller for ${peer || "nobody"}, not for ${wanted}`);
}

const isServer = (outcome: Outcome): boolean => outcome.kind !== "closed";
