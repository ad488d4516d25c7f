/**
 * What edges have newly counted in; reports to the control plane out, on a call of its own, for as long as the agent runs.
 * One that was not acknowledged is sent again under its number; what an outage of a minute and more has counted is forgotten.
 */
import { randomBytes } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { type FromAgent, FromAgentSchema, type ToAgent, TrafficService } from "../../gen/fairlead/traffic_pb.js";
import { type Backoff, createBackoff, FairleadError, type Logger, wait } from "../../lib/index.ts";
import { type ClientStream, protoMethod, type RpcClient, RpcError, status } from "../../rpc/index.ts";
import type { EdgeDelta, EdgeSource } from "./edge-counts.ts";
import { type Batch, protocols, sides, type Taps } from "./tap.ts";

export interface TrafficReporterOptions {
  readonly client: Pick<RpcClient, "stream">;
  /** Of this workload. */
  readonly address: string;
  readonly edges: EdgeSource;
  readonly taps: Taps;
  readonly monotonicMs: () => number;
  readonly random: () => number;
  readonly log: Logger;
  readonly intervalMs: number;
}

const method = protoMethod(TrafficService.method.report);
const forgetMs = 60_000;
/** A control plane that knows no such call may be replaced by one that does. */
const laterMs = 10 * 60_000;
/** The control plane tells no more apart, and takes no larger message. */
const maxEdges = 256;
const maxFlags = 16;
/** How long a request that somebody waits to see is held at most. */
const flushMs = 250;
const mostCount = 100_000_000;

interface Outstanding {
  readonly sequence: number;
  readonly edges: readonly EdgeDelta[];
  readonly coveredMs: number;
  readonly takenAtMs: number;
}

interface State {
  readonly run: string;
  readonly reports: Reports;
  readonly backoff: Backoff;
}

/** Resolves when the signal ends it. */
export async function reportTraffic(options: TrafficReporterOptions, signal: AbortSignal): Promise<void> {
  const { log, random } = options;
  const backoff = createBackoff({ minMs: 1000, maxMs: 60_000, random });
  const state: State = { run: randomBytes(8).toString("hex"), reports: createReports(options), backoff };
  let told = "";
  while (!signal.aborted) {
    const error = await session(options, state, signal).catch((thrown: unknown) => thrown);
    if (signal.aborted) return;
    const isUnknown = error instanceof RpcError && error.status === status.unimplemented;
    const cause = FairleadError.from(error).message;
    if (cause !== told)
      log.info(isUnknown ? "the control plane takes no reports on requests" : "reports on requests wait", { cause });
    told = cause;
    await wait(isUnknown ? laterMs * (1 + random()) : backoff.nextMs(), signal).catch(() => {});
  }
}

interface Reports {
  /** The same one again until it is acknowledged; undefined where there is nothing new. */
  next(): Promise<Outstanding | undefined>;
  acknowledge(sequence: number): void;
}

function createReports({ edges, monotonicMs }: TrafficReporterOptions): Reports {
  let outstanding: Outstanding | undefined;
  let rest: readonly EdgeDelta[] = [];
  let sequence = 0;
  let takenAtMs = monotonicMs();
  return {
    async next() {
      const nowMs = monotonicMs();
      const taken = outstanding && nowMs - outstanding.takenAtMs > forgetMs ? undefined : outstanding;
      if (taken) return taken;
      const wasAway = nowMs - takenAtMs > forgetMs;
      const fresh = rest.length > 0 ? rest : await edges.take();
      const coveredMs = Math.min(forgetMs, nowMs - takenAtMs);
      takenAtMs = nowMs;
      rest = wasAway ? [] : fresh.slice(maxEdges);
      outstanding =
        wasAway || fresh.length === 0
          ? undefined
          : { sequence: ++sequence, edges: fresh.slice(0, maxEdges), coveredMs, takenAtMs };
      return outstanding;
    },
    acknowledge(of) {
      if (outstanding?.sequence === of) outstanding = undefined;
    },
  };
}

/** One call: until it breaks. */
async function session(options: TrafficReporterOptions, state: State, signal: AbortSignal): Promise<never> {
  const stream = await options.client.stream(method, { signal });
  const over = new AbortController();
  const { address } = options;
  await stream.send(create(FromAgentSchema, { message: { case: "hello", value: { address, run: state.run } } }));
  const sending = sendReports(options, state, stream, AbortSignal.any([signal, over.signal]));
  sending.catch(stream.cancel);
  const flush = setInterval(() => sendTapped(options.taps, stream), flushMs);
  try {
    for await (const { message } of stream.messages) {
      state.backoff.reset();
      if (message.case === "acknowledged") state.reports.acknowledge(message.value);
      else if (message.case === "tap") options.taps.order(message.value);
    }
    throw new RpcError(status.unavailable, "the control plane has ended the call");
  } finally {
    clearInterval(flush);
    options.taps.clear();
    over.abort();
    stream.cancel();
  }
}

/** What cannot be sent is lost with the call, which its reader ends. */
function sendTapped(taps: Taps, stream: Sending): void {
  if (!taps.isActive) return;
  for (const batch of taps.drain()) stream.send(tappedOf(batch)).catch(() => {});
}

const tappedOf = ({ id, requests, leftOut }: Batch): FromAgent =>
  create(FromAgentSchema, { message: { case: "tapped", value: { id, requests: [...requests], leftOut } } });

type Sending = Pick<ClientStream<FromAgent, ToAgent>, "send">;

async function sendReports(
  { intervalMs, random }: TrafficReporterOptions,
  { reports }: State,
  stream: Sending,
  signal: AbortSignal,
): Promise<never> {
  let sent = 0;
  for (;;) {
    // A mesh that has got its control plane back does not report as one from then on.
    await wait(intervalMs * (0.9 + 0.2 * random()), signal);
    const report = await reports.next();
    if (!report || report.sequence === sent) continue;
    sent = report.sequence;
    await stream.send(messageOf(report));
  }
}

function messageOf({ sequence, coveredMs, edges }: Outstanding): FromAgent {
  const value = { sequence, coveredMs: Math.round(coveredMs), edges: edges.map(edgeOf) };
  return create(FromAgentSchema, { message: { case: "report", value } });
}

/** Connections have their bytes apart: they may be too many for a count. */
const bytePlaces = 2;

function edgeOf({ side, protocol, peer, service, counts, flags }: EdgeDelta) {
  const isTcp = protocol === "tcp";
  const [sentBytes = 0, receivedBytes = 0] = isTcp ? counts.slice(-bytePlaces) : [];
  return {
    ...{ side: sides[side], protocol: protocols[protocol], peer, service, sentBytes, receivedBytes },
    counts: (isTcp ? counts.slice(0, -bytePlaces) : counts).map((count) => Math.min(Math.round(count), mostCount)),
    flags: [...flags].slice(0, maxFlags).map(([flag, count]) => ({ flag, count })),
  };
}
