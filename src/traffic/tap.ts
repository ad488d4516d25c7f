/**
 * Questions on single requests in; orders to the agents that may see such, and the requests themselves as they come, out.
 * A tap lasts a minute at most and shows at most 50 requests a second of the whole mesh; what comes beyond is counted.
 */
import { create } from "@bufbuild/protobuf";
import { type Request, type Tap, type Tapped, TapSchema } from "../gen/fairlead/traffic_pb.js";
import { type Bucket, createBucket, FairleadError } from "../lib/index.ts";
import { tapHeaders, tapLimits } from "../model/index.ts";
import type { LiveRequest, Party, Side, TapBatch } from "../read-api/index.ts";
import { readEnds, wireSides } from "./read-edge.ts";

/** What is absent matches all. */
export interface TapQuestion {
  /** Whose proxies are asked. */
  readonly of?: PartyFilter;
  /** Only as one of both ends has seen it. */
  readonly side?: Side;
  /** Who is at the other end. */
  readonly peer?: PartyFilter;
  readonly service?: { readonly name?: string; readonly namespace?: string };
  readonly method?: string;
  readonly authority?: string;
  readonly pathPrefix?: string;
  readonly minStatus?: number;
  readonly maxStatus?: number;
  /** Headers to show; refused where the operator has not allowed them. */
  readonly headers?: readonly string[];
  readonly forMs?: number;
  readonly perSecond?: number;
}

export interface PartyFilter {
  readonly namespace?: string;
  readonly workload?: string;
}

export interface LiveTap {
  /** What has come since the last call; waits for so long where there is nothing. */
  next(waitMs: number): Promise<TapBatch>;
  close(): void;
}

/** The side of who looks. */
export interface TapView {
  /** Throws `invalid`, `forbidden` for headers, or `unavailable` where too many look already. */
  open(question: TapQuestion): LiveTap;
}

/** A connected agent. */
export interface TapAgent {
  readonly party: Party;
  order(tap: Tap): void;
}

export interface TapHub extends TapView {
  join(agent: TapAgent): void;
  leave(agent: TapAgent): void;
  take(agent: TapAgent, tapped: Tapped): void;
  readonly size: number;
}

export interface TapHubOptions {
  readonly now: () => Date;
  readonly monotonicMs: () => number;
  /** Of those that proxies note, the ones that may be shown. */
  readonly headers: readonly string[];
}

/** A connection may have begun long before it is told. */
const longestAgoMs = 7 * 86_400_000;
const { maxTaps, longestMs, mostPerSecond } = tapLimits;
/** For who reads slowly. */
const maxHeld = 500;

interface Running {
  readonly question: TapQuestion;
  readonly untilMs: number;
  readonly agents: Set<TapAgent>;
  readonly pace: Bucket;
  held: LiveRequest[];
  leftOut: number;
  wake: () => void;
}

export function createTapHub(options: TapHubOptions): TapHub {
  const { monotonicMs, now } = options;
  const agents = new Set<TapAgent>();
  const taps = new Map<number, Running>();
  let lastId = 0;

  function ask(id: number, running: Running, agent: TapAgent): void {
    if (!isParty(running.question.of, agent.party)) return;
    running.agents.add(agent);
    agent.order(orderOf(id, running.question, Math.max(1, running.untilMs - monotonicMs())));
  }

  function end(id: number): void {
    const running = taps.get(id);
    if (!running) return;
    taps.delete(id);
    for (const agent of running.agents) agent.order(create(TapSchema, { id, forMs: 0 }));
    running.wake();
  }

  function add(running: Running, request: LiveRequest): void {
    if (!running.pace.take()) running.leftOut++;
    else if (running.held.push(request) > maxHeld) {
      running.held.shift();
      running.leftOut++;
    }
  }

  return {
    get size() {
      return taps.size;
    },
    join(agent) {
      agents.add(agent);
      for (const [id, running] of taps) ask(id, running, agent);
    },
    leave(agent) {
      agents.delete(agent);
      for (const running of taps.values()) running.agents.delete(agent);
    },
    take(agent, { id, requests, leftOut }) {
      const running = taps.get(id);
      if (!running?.agents.has(agent)) return;
      running.leftOut += leftOut;
      const nowMs = now().getTime();
      for (const request of requests) {
        const read = readRequest(request, agent.party, running.question.headers ?? [], nowMs);
        if (read) add(running, read);
      }
      running.wake();
    },
    open(question) {
      check(question, options.headers);
      if (taps.size >= maxTaps)
        throw new FairleadError("unavailable", `${maxTaps} others look at live requests already`);
      const id = ++lastId;
      const forMs = Math.min(question.forMs ?? longestMs, longestMs);
      const perSecond = Math.min(question.perSecond ?? mostPerSecond, mostPerSecond);
      const running: Running = {
        ...{ question, untilMs: monotonicMs() + forMs, agents: new Set(), held: [], leftOut: 0, wake: () => {} },
        pace: createBucket(perSecond, perSecond, monotonicMs),
      };
      taps.set(id, running);
      for (const agent of agents) ask(id, running, agent);
      const timer = setTimeout(() => end(id), forMs).unref();
      return {
        async next(waitMs) {
          if (running.held.length === 0 && taps.has(id)) await woken(running, waitMs);
          const { held: requests, leftOut } = running;
          running.held = [];
          running.leftOut = 0;
          return { requests, leftOut, proxies: running.agents.size, done: !taps.has(id) };
        },
        close() {
          clearTimeout(timer);
          end(id);
        },
      };
    },
  };
}

function woken(running: Running, waitMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, waitMs);
    running.wake = () => {
      clearTimeout(timer);
      resolve();
    };
  });
}

function check({ headers = [], forMs, perSecond }: TapQuestion, allowed: readonly string[]): void {
  for (const number of [forMs, perSecond])
    if (number !== undefined && !(number > 0))
      throw new FairleadError("invalid", "a tap has a time and a rate above zero");
  for (const header of headers) {
    if (!tapHeaders.includes(header))
      throw new FairleadError(
        "invalid",
        `proxies note no header ${JSON.stringify(header)}, only ${tapHeaders.join(", ")}`,
      );
    if (!allowed.includes(header))
      throw new FairleadError(
        "forbidden",
        `header ${header} may not be shown: FAIRLEAD_TAP_HEADERS names those that may`,
      );
  }
}

const isParty = (filter: PartyFilter | undefined, { namespace, workload }: Party): boolean =>
  (filter?.namespace === undefined || filter.namespace === namespace) &&
  (filter?.workload === undefined || filter.workload === workload);

function orderOf(id: number, question: TapQuestion, forMs: number): Tap {
  const { side, peer, service, method = "", authority = "", pathPrefix = "" } = question;
  const { minStatus = 0, maxStatus = 0, perSecond = mostPerSecond, headers = [] } = question;
  return create(TapSchema, {
    ...{ id, forMs: Math.round(forMs), perSecond: Math.ceil(perSecond), headers: [...headers] },
    filter: {
      ...{ method, authority, pathPrefix, minStatus, maxStatus },
      ...(side ? { side: wireSides[side] } : {}),
      ...(peer ? { peer: { namespace: peer.namespace ?? "", workload: peer.workload ?? "" } } : {}),
      ...(service ? { service: { name: service.name ?? "", namespace: service.namespace ?? "" } } : {}),
    },
  });
}

/** What agents send is cut to what Envoy would write; ends are read as those of reports are. */
function readRequest(request: Request, own: Party, wanted: readonly string[], nowMs: number): LiveRequest | undefined {
  const ends = readEnds(request, own);
  if (!ends) return undefined;
  const cut = (text: string, longest: number): string => text.slice(0, longest).toWellFormed();
  const size = (value: number): number => (Number.isFinite(value) && value >= 0 ? value : 0);
  const headers = wanted.flatMap((name) => {
    const value = Object.hasOwn(request.headers, name) ? request.headers[name] : undefined;
    return value === undefined ? [] : [[name, cut(value, 256)] as const];
  });
  return {
    ...ends.name,
    at: new Date(nowMs - Math.min(size(request.agoMs), longestAgoMs)).toISOString(),
    side: ends.side,
    method: cut(request.method, 32),
    authority: cut(request.authority, 256),
    path: cut(request.path, 1024),
    status: request.status,
    grpcStatus: cut(request.grpcStatus, 8),
    flags: cut(request.flags, 64),
    durationMs: size(request.durationMs),
    receivedBytes: size(request.receivedBytes),
    sentBytes: size(request.sentBytes),
    mutualTls: request.mutual,
    peerAddress: cut(request.peerAddress, 64),
    headers: Object.fromEntries(headers),
  };
}
