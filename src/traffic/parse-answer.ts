/** JSON that a control plane has answered in; rates or live requests out. What is missing is nothing; what is neither is refused. */
import { FairleadError, isRecord, readList, readNumber, readRecord, readText, readTexts } from "../lib/index.ts";
import { connectionCounts, latencyBoundsMs, requestCounts, type TrafficProtocol } from "../model/index.ts";
import type { CalledService, LiveRequest, Party, TapAnswer } from "../read-api/index.ts";
import { type Counted, countedOf, type EdgeTraffic } from "./edge.ts";
import type { TrafficSnapshot } from "./store.ts";

export function parseSnapshot(value: unknown): TrafficSnapshot {
  const { since, now, seconds, reporters, edges, bytes, foldedEdges, planes, silentPlanes, traffic } =
    readRecord(value);
  if (!Array.isArray(traffic) || readNumber(seconds) === undefined)
    throw new FairleadError("invalid", "the answer of the control plane is none on requests");
  return {
    planes: readTexts(planes),
    silentPlanes: number(silentPlanes),
    since: readText(since),
    now: readText(now),
    seconds: Math.max(1, number(seconds)),
    reporters: number(reporters),
    edges: number(edges),
    bytes: number(bytes),
    foldedEdges: number(foldedEdges),
    traffic: traffic.filter(isRecord).map(readTraffic),
  };
}

/** What a control plane has answered of live requests. */
export function parseTapBatch(value: unknown): TapAnswer {
  const { session, requests, leftOut, proxies, done } = readRecord(value);
  if (!Array.isArray(requests) || typeof session !== "string")
    throw new FairleadError("invalid", "the answer of the control plane is none on live requests");
  return {
    session,
    requests: requests.filter(isRecord).map(readLive),
    leftOut: number(leftOut),
    proxies: number(proxies),
    done: done === true,
  };
}

function readLive(request: Readonly<Record<string, unknown>>): LiveRequest {
  const text = (name: string): string => readText(request[name]);
  const headers = Object.entries(readRecord(request.headers)).map(([name, value]) => [name, readText(value)] as const);
  return {
    source: readParty(request.source),
    destination: readParty(request.destination),
    service: readService(request.service),
    protocol: protocolOf(text("protocol")),
    at: text("at"),
    side: text("side") === "source" ? "source" : "destination",
    method: text("method"),
    authority: text("authority"),
    path: text("path"),
    status: number(request.status),
    grpcStatus: text("grpcStatus"),
    flags: text("flags"),
    durationMs: number(request.durationMs),
    receivedBytes: number(request.receivedBytes),
    sentBytes: number(request.sentBytes),
    mutualTls: request.mutualTls === true,
    peerAddress: text("peerAddress"),
    headers: Object.fromEntries(headers),
  };
}

const number = (value: unknown): number => readNumber(value) ?? 0;

function readTraffic(edge: Readonly<Record<string, unknown>>): EdgeTraffic {
  const protocol = protocolOf(readText(edge.protocol));
  const flags = Object.entries(readRecord(edge.flags)).map(([flag, count]) => [flag, number(count)] as const);
  return {
    source: readParty(edge.source),
    destination: readParty(edge.destination),
    service: readService(edge.service),
    protocol,
    folded: edge.folded === true,
    ...(isRecord(edge.bySource) ? { bySource: readCounted(protocol, edge.bySource) } : {}),
    ...(isRecord(edge.byDestination) ? { byDestination: readCounted(protocol, edge.byDestination) } : {}),
    flags: Object.fromEntries(flags),
    firstSeen: readText(edge.firstSeen),
    lastSeen: readText(edge.lastSeen),
  };
}

const protocolOf = (text: string): TrafficProtocol => (text === "tcp" || text === "grpc" ? text : "http");

function readParty(value: unknown): Party {
  const { namespace, workload, app, version } = readRecord(value);
  return {
    namespace: readText(namespace),
    workload: readText(workload),
    app: readText(app),
    version: readText(version),
  };
}

function readService(value: unknown): CalledService {
  const { host, name, namespace } = readRecord(value);
  return { host: readText(host), name: readText(name), namespace: readText(namespace) };
}

function readCounted(protocol: TrafficProtocol, counted: Readonly<Record<string, unknown>>): Counted {
  const numbers = (names: readonly string[], of: unknown): number[] =>
    names.map((name) => number(readRecord(of)[name]));
  if (protocol === "tcp") return countedOf(protocol, numbers(connectionCounts, counted.connections));
  const latency = readList(readRecord(counted.requests).latency)
    .slice(0, latencyBoundsMs.length + 1)
    .map(number);
  return countedOf(protocol, [...numbers(requestCounts, counted.requests), ...latency]);
}
