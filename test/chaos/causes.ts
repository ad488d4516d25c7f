/** Failed requests, what was killed, and the proxies' access logs in; the cause of each failure out. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Kill } from "./faults/fault.ts";
import type { Failure } from "./load.ts";

export interface Cause {
  /** In words. */
  readonly text: string;
  /** It was under way on a process at the moment that this was killed. */
  readonly inFlight: boolean;
  /** How long after something was killed it began; 0 where that is not its cause. */
  readonly afterMs: number;
}

interface LogLine {
  readonly pod: string;
  readonly flags: string;
  /** `address:port`, or `-`. */
  readonly upstream: string;
  readonly why: string;
}

/** A request that starts in the same moment may already be on the connection that dies. */
const momentMs = 50;

/** `logs` is the folder of one namespace: POD/istio-proxy.log. */
export function findCauses(failures: readonly Failure[], kills: readonly Kill[], logs: string): readonly Cause[] {
  const lines = failures.length > 0 ? readLines(logs) : new Map<string, readonly LogLine[]>();
  return failures.map((failure) => causeOf(failure, kills, lines.get(failure.id) ?? []));
}

function causeOf(failure: Failure, kills: readonly Kill[], lines: readonly LogLine[]): Cause {
  const hit = kills.filter((kill) => touches(kill, lines) || (isLookUp(failure) && kill.pod?.name === "client"));
  const under = hit.find(({ from, until }) => failure.startedAt <= until + momentMs && failure.endedAt >= from);
  if (under) return { text: `under way on ${under.what}`, inFlight: true, afterMs: 0 };
  const after = hit.findLast(({ until }) => failure.startedAt > until);
  const last = lines.at(-1);
  // Where no proxy complains, whoever answered says why.
  const why = last && last.flags !== "-" ? `${last.flags} ${last.why}` : failure.text;
  const reason = `${failure.status} ${why}`.trim();
  const text = `${failure.stream}: ${after ? `sent to what was left of ${after.what}: ` : ""}${reason}`;
  return { text, inFlight: false, afterMs: after ? failure.startedAt - after.until : 0 };
}

/** No proxy sees it: the agent of the Pod that asks answers it. */
const isLookUp = ({ status, text }: Failure): boolean => status === 0 && text.includes("getaddrinfo");

const touches = (kill: Kill, lines: readonly LogLine[]): boolean =>
  lines.some(({ pod, upstream }) => pod === kill.pod?.name || upstream.split(":")[0] === kill.pod?.address);

function readLines(logs: string): Map<string, LogLine[]> {
  const found = new Map<string, LogLine[]>();
  for (const pod of readdirSync(logs))
    for (const name of ["istio-proxy.log.1", "istio-proxy.log"]) {
      const file = join(logs, pod, name);
      if (!existsSync(file)) continue;
      for (const [, id = "", flags = "", upstream = "", why = ""] of readFileSync(file, "utf8").matchAll(
        /^chaos id=(\S+) code=\d+ flags=(\S+) upstream=(\S+) details=\S+ why=(.*)$/gm,
      ))
        found.set(id, [...(found.get(id) ?? []), { pod, flags, upstream, why: why === "-" ? "" : why }]);
    }
  return found;
}
