/** The flags of `tap` and `top` in; batches of live requests out, of all control planes that are asked, until they end. */
import type { Command } from "commander";
import { FairleadError, parseDurationMs } from "../../lib/index.ts";
import type { TapBatch } from "../../read-api/index.ts";
import { parseTapBatch } from "../../traffic/index.ts";
import type { Io } from "../command.ts";
import type { AskDebug } from "../pod-debug.ts";
import { type AskedFlags, planesOf, withPlaneOptions } from "./ask.ts";
import { parseEnd, parseTarget, type Target } from "./target.ts";

export interface LiveFlags extends AskedFlags {
  readonly namespace?: string;
  readonly from?: string;
  readonly to?: string;
  readonly side?: string;
  readonly method?: string;
  readonly authority?: string;
  readonly path?: string;
  readonly status?: string;
  readonly maxRps: string;
  readonly for?: string;
}

/** What both commands have in common. */
export function withLiveOptions(command: Command): Command {
  return withPlaneOptions(command)
    .argument("[what...]", "workloads (deploy), services (svc) or namespaces (ns), or one as TYPE/NAME", ["workloads"])
    .option("-n, --namespace <namespace>", "only of this namespace; all where absent")
    .option("--from <who>", "only requests of this workload or ns/NAMESPACE")
    .option("--to <whom>", "only requests to this workload, ns/NAMESPACE or svc/NAME")
    .option("--side <end>", "only as the proxy of this end has seen it: source or destination")
    .option("--method <method>", "only this method")
    .option("--authority <host>", "only this host, as the caller wrote it")
    .option("--path <prefix>", "only paths that begin like this")
    .option("--status <code>", "only this status, or 4xx, 5xx")
    .option("--max-rps <count>", "how many requests a second to show, up to 50", "50");
}

export function durationOf(flags: Pick<LiveFlags, "for">, fallbackMs: number): number {
  if (flags.for === undefined) return fallbackMs;
  const ms = parseDurationMs(flags.for);
  if (ms === undefined || ms <= 0)
    throw new FairleadError("usage", `--for ${flags.for} is not a time`, { hint: "write it as 30s" });
  return ms;
}

/** As `/debug/tapz` is asked. `broadSide` is the end that tells where more than one workload is meant. */
export function queryOf(
  what: readonly string[],
  flags: LiveFlags,
  more: Readonly<Record<string, string>>,
  broadSide?: "destination",
): URLSearchParams {
  const target = parseTarget(what, flags.namespace);
  const [from, to] = [flags.from, flags.to].map((end) => (end === undefined ? undefined : parseEnd(end)));
  if (from && to) throw new FairleadError("usage", "--from and --to cannot be had together");
  const query = new URLSearchParams({ rps: flags.maxRps, ...more });
  const set = (name: string, value: string | undefined): void => {
    if (value !== undefined) query.set(name, value);
  };
  place(target, "workload", "namespace", set);
  if (from) place(from, "peer", "peerNamespace", set);
  if (to) place(to, "peer", "peerNamespace", set);
  // Of two ends that are both asked, each would tell every request.
  const broad = target.by === "workload" && target.name !== undefined ? undefined : broadSide;
  set("side", flags.side ?? (from ? "destination" : to ? "source" : broad));
  for (const name of ["method", "authority", "path", "status"] as const) set(name, flags[name]);
  return query;
}

function place(
  { by, name, namespace }: Target,
  workload: string,
  inNamespace: string,
  set: (name: string, value: string | undefined) => void,
): void {
  if (by === "service") {
    set("service", name);
    set("serviceNamespace", namespace);
    return;
  }
  if (by === "workload") set(workload, name);
  set(inNamespace, namespace);
}

/** Ends with the last of them. */
export async function* liveRequests(flags: LiveFlags, query: URLSearchParams, io: Io): AsyncGenerator<TapBatch> {
  const asked = (await planesOf(flags, io)).map((ask) => batchesOf(ask, query));
  const next = (batches: AsyncGenerator<TapBatch>) => batches.next().then((result) => ({ batches, result }));
  const waiting = new Map(asked.map((batches) => [batches, next(batches)]));
  while (waiting.size > 0) {
    const { batches, result } = await Promise.race(waiting.values());
    if (result.done) waiting.delete(batches);
    else {
      waiting.set(batches, next(batches));
      yield result.value;
    }
  }
}

async function* batchesOf(ask: AskDebug, query: URLSearchParams): AsyncGenerator<TapBatch> {
  const { session } = parseTapBatch(await ask(`tapz?${query}`));
  let batch: TapBatch | undefined;
  try {
    while (!batch?.done) {
      batch = parseTapBatch(await ask(`tapz?session=${encodeURIComponent(session)}`));
      yield batch;
    }
  } finally {
    if (!batch?.done) await ask(`tapz?session=${encodeURIComponent(session)}&end`).catch(() => {});
  }
}
