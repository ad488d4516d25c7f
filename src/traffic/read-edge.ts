/**
 * One edge of a report, and who has sent it, in; its name and counts out, or undefined where something in it cannot be. The
 * reporter's end of it is never read from the report.
 */
import { type Edge, Edge_Protocol, Edge_Side, type Peer, type Service } from "../gen/fairlead/traffic_pb.js";
import { countPlaces, requestCounts, type TrafficProtocol } from "../model/index.ts";
import type { CalledService, EdgeName, Party, Side } from "../read-api/index.ts";
import { nobody, noService } from "./edge.ts";

export interface ReadEdge {
  readonly name: EdgeName;
  readonly side: Side;
  readonly counts: readonly number[];
  readonly flags: readonly (readonly [string, number])[];
}

/** More than any proxy carries in the time of a report. */
const mostRequests = 100_000_000;
const mostBytes = 1e14;
const maxFlags = 16;

const protocols: ReadonlyMap<Edge_Protocol, TrafficProtocol> = new Map([
  [Edge_Protocol.HTTP, "http"],
  [Edge_Protocol.GRPC, "grpc"],
  [Edge_Protocol.TCP, "tcp"],
]);
export const wireSides = { source: Edge_Side.SOURCE, destination: Edge_Side.DESTINATION } as const;
const sides: ReadonlyMap<Edge_Side, Side> = new Map([
  [wireSides.source, "source"],
  [wireSides.destination, "destination"],
]);

export function readEdge(edge: Edge, own: Party): ReadEdge | undefined {
  const ends = readEnds(edge, own);
  const counts = ends && readCounts(edge, ends.name.protocol);
  const flags = edge.flags.map(({ flag, count }) => [flag, count] as const);
  const isSound = flags.length <= maxFlags && flags.every(([flag, count]) => /^[A-Z]{2,6}$/.test(flag) && count > 0);
  return ends && counts && isSound ? { ...ends, counts, flags } : undefined;
}

/** Who is at which end: of a report's edge, and of a single request. */
export function readEnds(
  { side: told, protocol: spoken, peer: other, service: called }: Pick<Edge, "side" | "protocol" | "peer" | "service">,
  own: Party,
): { readonly name: EdgeName; readonly side: Side } | undefined {
  const [side, protocol] = [sides.get(told), protocols.get(spoken)];
  const [peer, service] = [readPeer(other), readService(called)];
  if (!side || !protocol || !peer || !service) return undefined;
  const [source, destination] = side === "source" ? [own, peer] : [peer, own];
  return { side, name: { source, destination, service, protocol } };
}

/** Names of Kubernetes: letters that no terminal, page or key takes for something else. */
const isName = (text: string): boolean => text.length <= 253 && /^[A-Za-z0-9]?[A-Za-z0-9._*-]*$/.test(text);

function readPeer(peer: Peer | undefined): Party | undefined {
  if (!peer) return nobody;
  const { namespace, workload, app, version } = peer;
  return [namespace, workload, app, version].every(isName) ? { namespace, workload, app, version } : undefined;
}

function readService(service: Service | undefined): CalledService | undefined {
  if (!service) return noService;
  const { host, name, namespace } = service;
  return [host, name, namespace].every(isName) ? { host, name, namespace } : undefined;
}

function readCounts(
  { counts, sentBytes, receivedBytes }: Edge,
  protocol: TrafficProtocol,
): readonly number[] | undefined {
  const places = countPlaces(protocol);
  const isCount = (value: number, most: number): boolean => value >= 0 && value <= most;
  if (counts.length > places || !counts.every((count) => isCount(count, mostRequests))) return undefined;
  if (protocol === "tcp") {
    if (counts.length > places - 2) return undefined;
    if (![sentBytes, receivedBytes].every((bytes) => isCount(bytes, mostBytes))) return undefined;
    return [...Array.from({ length: places - 2 }, (_, i) => counts[i] ?? 0), sentBytes, receivedBytes];
  }
  const [all = 0, ...kinds] = counts.slice(0, requestCounts.length);
  return kinds.every((count) => count <= all) ? counts : undefined;
}
