/**
 * What a caller sends in; what becomes of it out, proxy by proxy, by the configuration that these proxies have been sent
 * and nothing else.
 */
import { evaluateHop, type HopResult, type Side } from "./hop.ts";
import type { JwtSettings } from "./http/jwt-token.ts";
import { grpcOfHttp } from "./http/traffic-filters.ts";
import { matchesText, showText } from "./match/text.ts";
import type { ProxyView } from "./proxy-view.ts";
import { type Connection, isGrpc } from "./request.ts";
import {
  type ChoicePoint,
  type Choose,
  createRecorder,
  type Hop,
  likeliest,
  type Outcome,
  type Step,
} from "./trace.ts";

export interface World {
  /** The proxy at an address, where there is one. */
  proxyAt(address: string): ProxyView | undefined;
  readonly jwt: JwtSettings;
}

export interface Explanation {
  /** As the caller sees it. */
  readonly outcome: Outcome;
  readonly steps: readonly Step[];
  /** Of `steps`, the one that ended it. */
  readonly decidedAt: number;
  readonly hops: readonly Hop[];
  readonly choices: readonly ChoicePoint[];
  /** Product of the odds of what was taken. */
  readonly odds: number;
  readonly assumptions: readonly string[];
}

export interface Departure {
  readonly proxy: ProxyView;
  readonly side: Side;
  readonly connection: Connection;
}

/** More hops than any sound configuration has. */
const maxHops = 8;

export function explain(world: World, departure: Departure, choose: Choose = likeliest): Explanation {
  const recorder = createRecorder(choose);
  const results: HopResult[] = [];
  let at: Departure | undefined = departure;
  let outcome: Outcome = { kind: "closed", flags: [], details: "too many hops" };
  while (at && results.length < maxHops) {
    const here: Departure = at;
    const { proxy, side } = here;
    const result = evaluateHop({ ...here, recorder, jwt: world.jwt });
    results.push(result);
    if (result.end.kind === "end") {
      outcome = result.end.outcome;
      break;
    }
    const { forwarded } = result.end;
    const { connection } = forwarded;
    const server: ProxyView | undefined = side === "inbound" ? undefined : world.proxyAt(connection.destination.ip);
    outcome = { kind: "reached", endpoint: forwarded.endpoint };
    if (side === "inbound" && connection.tls[0]?.peer?.startsWith("spiffe://")) {
      recorder.step({
        proxy: proxy.name,
        stage: "application",
        decision: `${forwarded.endpoint} gets the mesh's TLS, which the application does not speak`,
      });
      outcome = { kind: "closed", flags: [], details: "tls_handshake_failed" };
      break;
    }
    if (!server || server === proxy) {
      recorder.step({
        proxy: proxy.name,
        stage: "application",
        decision:
          side === "inbound"
            ? `the application at ${forwarded.endpoint}`
            : `${forwarded.endpoint || "the endpoint"}, which has no proxy that is known here`,
      });
      break;
    }
    if (
      connection.tls.length > 0 &&
      forwarded.names.length > 0 &&
      !forwarded.names.some((name) => matchesText(name, server.identity))
    ) {
      recorder.step({
        proxy: proxy.name,
        stage: "tls",
        decision: `the handshake fails: ${server.identity} is none of ${forwarded.names.map(showText).join(", ")}`,
      });
      outcome = { kind: "closed", flags: [], details: "tls_handshake_failed" };
      break;
    }
    at = { proxy: server, side: server.kind === "gateway" ? "gateway" : "inbound", connection };
  }
  const decidedAt = recorder.steps.length - 1;
  const seen = backwards(results, outcome);
  return {
    outcome: seen[0]?.outcome ?? outcome,
    steps: recorder.steps,
    decidedAt,
    hops: seen.map(({ hop }) => hop),
    choices: recorder.choices,
    odds: recorder.choices.reduce((product, { options, taken }) => product * (options[taken]?.odds ?? 1), 1),
    assumptions: recorder.assumptions,
  };
}

interface Seen {
  readonly hop: Hop;
  readonly outcome: Outcome;
}

/** What each proxy makes of what came back to it, from the last to the first. */
function backwards(results: readonly HopResult[], last: Outcome): readonly Seen[] {
  const seen: Seen[] = [];
  let outcome = last;
  for (const [index, result] of [...results.entries()].reverse()) {
    const isEnd = result.end.kind === "end";
    // TLS that nobody has ended is a connection that never came about.
    const neverUp = result.end.kind === "forward" && result.end.forwarded.addsTls && !results[index + 1]?.endsTls;
    if (!isEnd && outcome.kind === "closed" && (result.request || neverUp)) {
      const { retries, request } = result;
      const tired = (neverUp ? retries.connect : retries.broken) ? ["URX"] : [];
      const flags = [neverUp ? "UF" : "UC", ...tired];
      const how = neverUp ? "remote_connection_failure" : "connection_termination";
      const details = request ? `upstream_reset_before_response_started{${how}}` : "";
      const status = request && isGrpc(request) ? { status: 200, grpcStatus: grpcOfHttp(503) } : { status: 503 };
      outcome = request ? { kind: "answered", ...status, flags, details } : { kind: "closed", flags, details };
      seen.unshift({ hop: hopOf(result, outcome), outcome });
    } else {
      const own =
        isEnd || outcome.kind === "reached" ? outcome : ({ ...outcome, flags: [], details: "via_upstream" } as const);
      seen.unshift({ hop: hopOf(result, own), outcome });
    }
  }
  return seen;
}

const hopOf = ({ hop, flags }: HopResult, outcome: Outcome): Hop => ({
  ...hop,
  status: outcome.kind === "answered" ? outcome.status : 0,
  flags: [...flags, ...(outcome.kind === "reached" ? [] : outcome.flags)],
  details: outcome.kind === "reached" ? "via_upstream" : outcome.details,
});
