/**
 * Orders of the control plane, and lines as Envoy writes them, in; single requests that match out, so many a second and for
 * so long as was asked for. No body, no query of a path; headers only where they were asked for by name.
 */
import { create } from "@bufbuild/protobuf";
import {
  Edge_Protocol,
  Edge_Side,
  type Filter,
  type Request,
  RequestSchema,
  type Tap,
} from "../../gen/fairlead/traffic_pb.js";
import { httpValueColumns, tapHeaders, tapLimits, tcpValueColumns } from "../../model/index.ts";
import { type Ends, endsOf, isMutual } from "./edge-counts.ts";
import { buildLabels, type Labels, type Named, parseKey } from "./labels.ts";
import type { Notes } from "./log-lines.ts";
import type { Plan } from "./metric-plan.ts";
import type { WorkloadTable } from "./workload-table.ts";

export interface TapLine {
  readonly plan: Plan;
  readonly key: string;
  readonly values: readonly string[];
  /** What Envoy notes of a request beside what is counted. */
  readonly notes: Notes;
}

export interface Taps {
  /** Whether lines are wanted, with their notes. */
  readonly isActive: boolean;
  take(line: TapLine): void;
  order(tap: Tap): void;
  /** What has come since; ends those whose time is up. */
  drain(): readonly Batch[];
  /** Whoever asked has gone. */
  clear(): void;
}

export interface Batch {
  readonly id: number;
  readonly requests: readonly Request[];
  readonly leftOut: number;
}

export interface TapsOptions {
  readonly own: Named;
  readonly table: Pick<WorkloadTable, "lookup">;
  readonly monotonicMs: () => number;
  readonly now: () => Date;
}

/** Agents keep to these whatever they are told. */
const { maxTaps, longestMs, mostPerSecond } = tapLimits;

interface Running {
  readonly tap: Tap;
  readonly untilMs: number;
  requests: Request[];
  leftOut: number;
  secondMs: number;
  inSecond: number;
}

export function createTaps({ own, table, monotonicMs, now }: TapsOptions): Taps {
  const running = new Map<number, Running>();

  function read({ plan, key: text, values, notes }: TapLine): Tappable | undefined {
    const key = parseKey(text, plan.tagColumns);
    if (!key || key === "ambiguous") return undefined;
    const address = key.column("peerAddress");
    const found = address === "" ? undefined : table.lookup(address);
    const labels = buildLabels(plan, key, own, found === "pending" ? undefined : found);
    const agoMs = Math.max(0, now().getTime() - notes.startedMs);
    const facts = { ...factsOf(labels, notes.values, valueReader(plan, values)), peerAddress: address, agoMs };
    return { ends: endsOf(labels), notes, facts };
  }

  return {
    get isActive() {
      return running.size > 0;
    },
    take(line) {
      // Of a connection, its end.
      if (line.plan.protocol === "tcp" && line.values[0] !== "TcpConnectionEnd") return;
      const tappable = read(line);
      if (!tappable) return;
      const nowMs = monotonicMs();
      for (const tap of running.values()) if (isMatch(tap.tap.filter, tappable)) add(tap, tappable, nowMs);
    },
    order(tap) {
      running.delete(tap.id);
      if (tap.forMs === 0 || running.size >= maxTaps) return;
      const nowMs = monotonicMs();
      const untilMs = nowMs + Math.min(tap.forMs, longestMs);
      running.set(tap.id, { tap, untilMs, requests: [], leftOut: 0, secondMs: nowMs, inSecond: 0 });
    },
    drain() {
      const nowMs = monotonicMs();
      const batches: Batch[] = [];
      for (const [id, tap] of running) {
        if (tap.requests.length > 0 || tap.leftOut > 0)
          batches.push({ id, requests: tap.requests, leftOut: tap.leftOut });
        tap.requests = [];
        tap.leftOut = 0;
        if (nowMs >= tap.untilMs) running.delete(id);
      }
      return batches;
    },
    clear: () => running.clear(),
  };
}

interface Tappable {
  readonly ends: Ends;
  readonly notes: Notes;
  readonly facts: ReturnType<typeof factsOf> & { readonly peerAddress: string; readonly agoMs: number };
}

function factsOf(labels: Labels, notes: ReadonlyMap<string, string>, value: (column: string) => number) {
  return {
    method: present(notes.get("method")),
    authority: present(notes.get("authority")),
    path: withoutQuery(present(notes.get("path"))),
    status: Number(labels.get("response_code")) || 0,
    grpcStatus: labels.get("grpc_response_status") ?? "",
    flags: present(labels.get("response_flags")),
    durationMs: value("durationMs"),
    receivedBytes: value("receivedBytes"),
    sentBytes: value("sentBytes"),
    mutual: isMutual(labels),
  };
}

function add(running: Running, tappable: Tappable, nowMs: number): void {
  const { tap } = running;
  if (nowMs - running.secondMs >= 1000) {
    running.secondMs = nowMs;
    running.inSecond = 0;
  }
  if (running.inSecond >= Math.min(tap.perSecond, mostPerSecond) || nowMs >= running.untilMs) {
    running.leftOut++;
    return;
  }
  running.inSecond++;
  running.requests.push(requestOf(tappable, tap.headers));
}

function requestOf({ ends, notes, facts }: Tappable, wanted: readonly string[]): Request {
  const headers = tapHeaders
    .filter((name) => wanted.includes(name))
    .map((name) => [name, present(notes.values.get(name))] as const)
    .filter(([, value]) => value !== "");
  return create(RequestSchema, {
    ...facts,
    side: sides[ends.side],
    protocol: protocols[ends.protocol],
    peer: ends.peer,
    service: ends.service,
    headers: Object.fromEntries(headers),
  });
}

function isMatch(filter: Filter | undefined, { ends, facts }: Tappable): boolean {
  if (!filter) return true;
  const { side, peer, service, method, authority, pathPrefix, minStatus, maxStatus } = filter;
  const same = (wanted: string | undefined, is: string | undefined): boolean => !wanted || wanted === is;
  const { status, path } = facts;
  return (
    (side === Edge_Side.UNKNOWN || side === sides[ends.side]) &&
    same(peer?.namespace, ends.peer.namespace) &&
    same(peer?.workload, ends.peer.workload) &&
    same(service?.namespace, ends.service.namespace) &&
    same(service?.name, ends.service.name) &&
    same(method, facts.method) &&
    same(authority, facts.authority) &&
    path.startsWith(pathPrefix) &&
    status >= minStatus &&
    (maxStatus === 0 || status <= maxStatus)
  );
}

export const sides = { source: Edge_Side.SOURCE, destination: Edge_Side.DESTINATION } as const;
export const protocols = { http: Edge_Protocol.HTTP, grpc: Edge_Protocol.GRPC, tcp: Edge_Protocol.TCP } as const;

/** Envoy's sign for nothing. */
const present = (text: string | undefined): string => (text === undefined || text === "-" ? "" : text);

/** People put secrets there. */
const withoutQuery = (path: string): string => path.split(/[?#]/, 1)[0] ?? "";

function valueReader(plan: Plan, values: readonly string[]): (column: string) => number {
  const columns: readonly string[] = plan.protocol === "http" ? httpValueColumns : tcpValueColumns;
  return (column) => Number(values[columns.indexOf(column)]) || 0;
}
