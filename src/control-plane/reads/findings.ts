/** The state of a mesh in; what is wrong with it, worst first, each with its object, field and remedy, out. */
import type { Finding, Identities, ProxyRow, ServiceRow } from "../../read-api/index.ts";
import { shortName } from "../../xds/index.ts";
import type { ObjectProblem } from "../controllers/find-problems.ts";
import { refusedCode } from "../controllers/find-problems.ts";
import type { Refusal } from "../refusals.ts";

export interface FindingInputs {
  readonly problems: ReadonlyMap<string, readonly ObjectProblem[]>;
  readonly refusals: readonly Refusal[];
  readonly proxies: readonly ProxyRow[];
  readonly services: readonly ServiceRow[];
  readonly identities: Identities;
  readonly traffic: readonly Finding[];
  readonly now: Date;
}

const dayMs = 86_400_000;
/** What has not been acknowledged for so long will hardly be. */
const staleMs = 10_000;

export function findFindings(inputs: FindingInputs): readonly Finding[] {
  const found = [
    ...refused(inputs.refusals),
    ...stale(inputs.proxies, inputs.now),
    ...certificates(inputs.identities, inputs.now),
    ...[...inputs.problems].flatMap(([object, problems]) => problemsOf(object, problems)),
    ...inputs.traffic,
    ...withoutEndpoints(inputs.services),
  ];
  return found.sort((a, b) => rank[a.level] - rank[b.level]);
}

const rank: Readonly<Record<Finding["level"], number>> = { error: 0, warning: 1, info: 2 };

export function refused(refusals: readonly Refusal[]): readonly Finding[] {
  return refusals.map(({ proxy, type, resource, words, blamed }) => {
    const [cause] = blamed;
    return {
      level: "error",
      what: "refused by Envoy",
      proxy,
      ...(cause ? { object: cause.object } : {}),
      ...(cause?.field === undefined ? {} : { field: cause.field }),
      message: `${shortName(type)} ${resource}: ${words}`,
      remedy: cause
        ? "Change this field of the object; the proxy keeps what it had until then."
        : "See what the proxy is sent of this name, and who made it.",
    };
  });
}

function stale(proxies: readonly ProxyRow[], now: Date): readonly Finding[] {
  return proxies
    .filter(({ state, since }) => state !== "in step" && state !== "refuses" && ageMs(since, now) > staleMs)
    .map(({ id, state, since }) => ({
      level: "warning",
      what: state === "held back" ? "held back" : "not in step",
      proxy: id,
      message:
        state === "held back"
          ? "A change waits for the clusters that it names."
          : `What was sent at ${since} has not been acknowledged.`,
      remedy:
        state === "held back"
          ? "See on the proxy's page what it waits for."
          : "Look at the proxy's log; one that hangs is started again.",
    }));
}

const ageMs = (since: string, now: Date): number => now.getTime() - Date.parse(since);

/** Roots are told long before their end: their successors must first be believed everywhere. */
function certificates({ signer, roots }: Identities, now: Date): readonly Finding[] {
  const [soonMs, nowMs] = [90 * dayMs, 14 * dayMs];
  return [...(signer ? [signer] : []), ...roots]
    .filter(({ until }) => Date.parse(until) - now.getTime() < soonMs)
    .map(({ name, until }) => ({
      level: Date.parse(until) - now.getTime() < nowMs ? "error" : "warning",
      what: "certificate near its end",
      message: `Certificate ${name} of the mesh's CA ends at ${until}.`,
      remedy: "Run `fairlead ca rotate-root`: it is replaced step by step, with no request lost.",
    }));
}

export function problemsOf(object: string, problems: readonly ObjectProblem[]): readonly Finding[] {
  return problems
    .filter(({ code }) => code !== refusedCode)
    .map(({ code, level, message, path }) => ({
      level: level === "Error" ? "error" : level === "Warning" ? "warning" : "info",
      what: code,
      object,
      ...(path === "" ? {} : { field: path }),
      message,
      remedy: `Change the object; \`fairlead analyze\` says whether it is right then.`,
    }));
}

/** Hosts outside, and those that nobody has to serve, have none by design. */
function withoutEndpoints(services: readonly ServiceRow[]): readonly Finding[] {
  return services
    .filter(
      ({ object, endpoints, healthy, ports }) =>
        isServed(object) && ports.length > 0 && (endpoints === 0 || healthy === 0),
    )
    .map(({ host, object, endpoints }) => ({
      level: "warning",
      what: "nobody serves it",
      object,
      message:
        endpoints === 0 ? `${host} has no endpoint.` : `None of the ${endpoints} endpoints of ${host} is healthy.`,
      remedy: "Requests to it get 503. Start what its selector selects, or see why those Pods are not Ready.",
    }));
}

const isServed = (object: string): boolean => object.startsWith("Service/") && !object.endsWith("/kubernetes");
