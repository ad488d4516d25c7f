/** What a request wants in; its refusal, with the time to come back, out, where the API is short of something. */
import { FairleadError, type Overload, type Shortage } from "../lib/index.ts";
import type { Parts } from "./context.ts";
import { failure } from "./failure.ts";
import type { ResourceRequest } from "./request.ts";
import { seed } from "./seed.ts";

const retryAfterSeconds = 5;

/** Verbs that last, or leave more behind than there was; to read objects, and to change or delete one, goes on. */
const growing: ReadonlySet<string> = new Set(["watch", "create"]);
/** Who leads has to be kept even then, and a token is gone with its answer. */
const small: ReadonlySet<string> = new Set(["leases", "serviceaccounts", "tokenreviews", "subjectaccessreviews"]);

export function requireMemory(overload: Overload | undefined, { verb, kind, query }: ResourceRequest): void {
  const isLarge = growing.has(verb) || (verb === "list" && !query.has("limit"));
  if (!overload || !isLarge || small.has(kind.plural) || !overload.shortOfMemory) return;
  overload.refuse("request", "memory");
  const message = "the API is short of memory: try again later, delete what is not needed, or give it more";
  throw failure("TooManyRequests", message, { retryAfterSeconds });
}

/** For a connection that came when there were hardly any file descriptors left. */
export function noConnections(): Error {
  return failure("ServiceUnavailable", "the API has no room for more connections: try again later", {
    retryAfterSeconds,
  });
}

/** As an Event that is written past all limits, since there is one for each time that it begins. */
export async function recordShortage(parts: Parts, cause: Shortage, message: string): Promise<void> {
  const time = parts
    .now()
    .toISOString()
    .replace(/\.\d+Z$/, "Z");
  const about = { apiVersion: "v1", kind: "Pod", name: "fairlead-api", namespace: "istio-system" };
  const event = {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: `${about.name}.${parts.randomText(12)}`, namespace: about.namespace },
    involvedObject: about,
    ...{ type: "Warning", reason: cause === "memory" ? "MemoryPressure" : "DescriptorPressure", message },
    ...{ firstTimestamp: time, lastTimestamp: time, count: 1 },
    source: { component: about.name },
    ...{ reportingComponent: about.name, reportingInstance: "" },
  };
  await seed(parts, [event]).catch((error: unknown) =>
    parts.log.warn(`an Event was lost: ${FairleadError.from(error).message}`),
  );
}
