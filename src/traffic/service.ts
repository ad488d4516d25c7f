/**
 * `fairlead.traffic.v1.TrafficService/Report`: a call of an agent, with what it has counted, in; counts in the store out.
 * Who the reporter is, its certificate or token says, and the registry which workload that is; only the other end of an
 * edge is the agent's word.
 */
import { create } from "@bufbuild/protobuf";
import {
  type FromAgent,
  type Report,
  type Tap,
  type ToAgent,
  ToAgentSchema,
  TrafficService,
} from "../gen/fairlead/traffic_pb.js";
import { dropOldest, type Logger, type Overload } from "../lib/index.ts";
import { formatIdentity, type Identity, parseIdentity } from "../model/index.ts";
import type { Party } from "../read-api/index.ts";
import { type Call, duplex, type Each, protoMethod, type Route, RpcError, type Send, status } from "../rpc/index.ts";
import { type Allowance, createAllowance } from "./allowance.ts";
import { createCallsPerClient } from "./calls-per-client.ts";
import { nobody } from "./edge.ts";
import { readEdge } from "./read-edge.ts";
import { Reporter } from "./reporter.ts";
import type { TrafficStore } from "./store.ts";
import type { TapHub } from "./tap.ts";

/** A workload of the registry. */
export type KnownWorkload = Party & { readonly identity: string };

export interface TrafficServiceOptions {
  readonly store: TrafficStore;
  readonly taps: Pick<TapHub, "join" | "leave" | "take">;
  /** Throws for who cannot prove who it is. */
  authenticate(call: Call): Promise<Identity | undefined> | Identity | undefined;
  workloadAt(address: string): KnownWorkload | undefined;
  readonly metrics: { count(name: TrafficCounter, labels: Readonly<Record<string, string>>, by?: number): void };
  readonly monotonicMs: () => number;
  readonly overload?: Overload | undefined;
  readonly log: Logger;
  readonly reauthenticateMs?: number;
  readonly maxCallsPerClient?: number;
}

export type TrafficCounter = "fairlead_traffic_reports_total" | "fairlead_traffic_edges_total";

/** Of 256 edges, which agents send at most, each with all that it may have. */
const maxParts = 64_000;
const method = protoMethod(TrafficService.method.report, maxParts);
const reportResults = ["taken", "replayed", "refused"] as const;
const edgeResults = ["taken", "folded", "malformed"] as const;

const maxMessageBytes = 256 * 1024;
/** In one message; each costs some microseconds, in one turn. */
const maxEdges = 1024;
/** An agent has a report in ten seconds. */
const ownPace = { burst: 10, perSecond: 1 };
const sharedPace = { burst: 200, perSecond: 20 };
const maxReporters = 20_000;
/** As of streams of xDS: one workload must not take the place of all others. */
const maxCallsPerClient = 5_000;
/** Longer ago than this, nothing was counted: agents forget, too. */
const mostCoveredMs = 60_000;
const longestRun = 64;

export function createTrafficService(options: TrafficServiceOptions): Route {
  const { store, taps, metrics } = options;
  const reporters = new Map<string, Reporter>();
  const enter = createCallsPerClient(options.maxCallsPerClient ?? maxCallsPerClient);
  /** The last report of each run of an agent, also after its stream. */
  const lastOf = new Map<string, number>();
  const allowances = new Map<string, Allowance>();
  for (const result of reportResults) metrics.count("fairlead_traffic_reports_total", { result }, 0);
  for (const result of edgeResults) metrics.count("fairlead_traffic_edges_total", { result }, 0);

  function begin(hello: FromAgent, identity: Identity, { order, end }: Pick<Reporter, "order" | "end">): Reporter {
    if (hello.message.case !== "hello") throw invalid("the first message is no hello");
    const { address, run } = hello.message.value;
    if (run === "" || run.length > longestRun || address.length > longestRun) throw invalid("a hello without a run");
    if (reporters.size >= maxReporters) throw new RpcError(status.resourceExhausted, "too many reporters");
    const account = formatIdentity(identity);
    const key = `${account}\n${address}`;
    // An agent that comes again has lost its stream, or is another one: then this one counts.
    reporters.get(key)?.end(new RpcError(status.cancelled, "the agent has called again"));
    const look = (): Party => ownParty(options, identity, address);
    const reporter = new Reporter({
      key,
      account,
      run: `${key}\n${run}`,
      look,
      order,
      end,
      monotonicMs: options.monotonicMs,
    });
    reporters.set(key, reporter);
    store.reporters(1);
    taps.join(reporter);
    return reporter;
  }

  /** All who are where nobody is known share their account's: any address could be named. */
  function allowanceOf({ key, account, party }: Reporter): Allowance {
    const [of, pace] = party.workload === "" ? [account, sharedPace] : [key, ownPace];
    const allowance = allowances.get(of) ?? createAllowance(pace, options.monotonicMs);
    allowances.delete(of);
    allowances.set(of, allowance);
    dropOldest(allowances, maxReporters);
    return allowance;
  }

  function take(reporter: Reporter, { sequence, coveredMs, edges }: Report): void {
    const isNew = sequence > (lastOf.get(reporter.run) ?? 0);
    metrics.count("fairlead_traffic_reports_total", { result: isNew ? "taken" : "replayed" });
    if (!isNew) return;
    lastOf.delete(reporter.run);
    lastOf.set(reporter.run, sequence);
    dropOldest(lastOf, maxReporters);
    const own = reporter.look();
    const allowance = allowanceOf(reporter);
    const counted = { taken: 0, folded: 0, malformed: 0 };
    for (const edge of edges) {
      const read = readEdge(edge, own);
      if (read) {
        const fold = !allowance.tellsApart(JSON.stringify(read.name));
        store.add(read.name, read.side, { ...read, fold, coveredMs: Math.min(coveredMs, mostCoveredMs) });
        counted[fold ? "folded" : "taken"]++;
      } else counted.malformed++;
    }
    for (const result of edgeResults)
      if (counted[result] > 0) metrics.count("fairlead_traffic_edges_total", { result }, counted[result]);
  }

  function end(reporter: Reporter): void {
    store.reporters(-1);
    taps.leave(reporter);
    if (reporters.get(reporter.key) === reporter) reporters.delete(reporter.key);
  }

  function hear(reporter: Reporter, { message }: FromAgent, send: Send<ToAgent>): Promise<void> | undefined {
    if (message.case === "report") {
      if (!allowanceOf(reporter).mayReport()) throw new RpcError(status.resourceExhausted, "too many reports");
      take(reporter, message.value);
      return send(acknowledge(message.value.sequence));
    }
    if (message.case !== "tapped") throw invalid("a message that is no report");
    if (!reporter.mayTell()) throw new RpcError(status.resourceExhausted, "too many requests at once");
    taps.take(reporter, message.value);
    return undefined;
  }

  async function serve(each: Each<FromAgent>, call: Call, send: Send<ToAgent>): Promise<void> {
    checkRoom(options);
    const identity = await proven(options, call);
    const leave = enter(call.peer.client);
    const ended = Promise.withResolvers<never>();
    const recheck = setInterval(
      () => proven(options, call).catch(ended.reject),
      options.reauthenticateMs ?? 30 * 60_000,
    );
    // Who no longer hears it has gone, and is taken care of as such.
    const order = (tap: Tap): void => void attempt(() => send(tapOf(tap))).catch(() => {});
    let reporter: Reporter | undefined;
    try {
      const told = each((message) => {
        if (reporter) return hear(reporter, message, send);
        reporter = begin(message, identity, { order, end: ended.reject });
        return undefined;
      });
      await Promise.race([told, ended.promise]);
    } finally {
      clearInterval(recheck);
      leave();
      if (reporter) end(reporter);
    }
  }

  return duplex({ ...method, request: { decode: bounded } }, async (each, call, send) => {
    try {
      await serve(each, call, send);
    } catch (error) {
      const refused = error instanceof RpcError && error.status !== status.cancelled;
      if (refused) {
        metrics.count("fairlead_traffic_reports_total", { result: "refused" });
        options.log.warn("a report of an agent was refused", { cause: error.message, client: call.peer.address });
      }
      throw error;
    }
  });
}

/**
 * The reporter as the registry knows it, looked up for each report: Pods come later than their agents at times. Where
 * nobody is known at the address, its identity says the namespace.
 */
function ownParty(
  { workloadAt }: TrafficServiceOptions,
  { namespace, serviceAccount }: Identity,
  address: string,
): Party {
  const known = workloadAt(address);
  if (!known) return { ...nobody, namespace };
  const other = parseIdentity(known.identity);
  if (other?.namespace !== namespace || other.serviceAccount !== serviceAccount)
    throw new RpcError(status.permissionDenied, "another workload is at this address");
  const { workload, app, version } = known;
  return { namespace, workload, app, version };
}

async function proven({ authenticate }: TrafficServiceOptions, call: Call): Promise<Identity> {
  const identity = await authenticate(call);
  if (!identity) throw new RpcError(status.unauthenticated, "authentication failure");
  return identity;
}

function checkRoom({ overload }: TrafficServiceOptions): void {
  if (!overload?.shortOfMemory) return;
  overload.refuse("stream", "memory");
  throw new RpcError(status.resourceExhausted, "the control plane is short of memory: try again later");
}

/** Before it is decoded: a million names are refused by their size. */
function bounded(bytes: Uint8Array): FromAgent {
  if (bytes.length > maxMessageBytes) throw new RpcError(status.resourceExhausted, "the report is too large");
  const decoded = method.request.decode(bytes);
  const { message } = decoded;
  const members =
    message.case === "report" ? message.value.edges : message.case === "tapped" ? message.value.requests : [];
  if (members.length > maxEdges) throw new RpcError(status.resourceExhausted, "the report is too large");
  return decoded;
}

const attempt = async (act: () => Promise<void> | undefined): Promise<void> => act();

const tapOf = (tap: Tap): ToAgent => create(ToAgentSchema, { message: { case: "tap", value: tap } });

const acknowledge = (sequence: number): ToAgent =>
  create(ToAgentSchema, { message: { case: "acknowledged", value: sequence } });

const invalid = (cause: string): RpcError => new RpcError(status.invalidArgument, cause);
