/**
 * Counts of edges in, as they are reported; rings of the last hour out, with one read API for the CLI and for pages.
 * Memory is bounded: when there are too many edges, further ones are counted by namespace alone. Time goes by a clock that
 * is never set, and is the control plane's own: when something was counted, no agent says.
 */
import { randomBytes } from "node:crypto";
import { createRest, type Rest } from "../lib/index.ts";
import { countPlaces, reportIntervalMs } from "../model/index.ts";
import type { EdgeName, Side } from "../read-api/index.ts";
import { countedOf, type EdgeTraffic, nobody, noService } from "./edge.ts";
import { type Resolution, Ring } from "./ring.ts";

/** What is read of it: the CLI's and the pages' side. */
export interface TrafficView {
  about(): TrafficFacts;
  /** Every edge with traffic in that time. Thousands are read in short turns: one that grows meanwhile may be told with more. */
  snapshot(range: TimeRange): Promise<TrafficSnapshot>;
  /** The same for each slot of that time alone, oldest first, of the edges that match. */
  series(range: TimeRange, matches: (edge: EdgeName) => boolean): Promise<readonly TrafficPoint[]>;
}

export interface TimeRange {
  /** How long, up to an hour; up to ten minutes in steps of ten seconds, beyond in minutes. */
  readonly lastMs: number;
  /** How long ago it ended; now where absent. */
  readonly endedMsAgo?: number;
}

/** What peers and commands are sent. */
export interface TrafficSnapshot extends TrafficFacts {
  /** How long these were really counted for: slots are taken whole, and nothing was before the beginning. */
  readonly seconds: number;
  readonly traffic: readonly EdgeTraffic[];
}

export interface TrafficPoint {
  /** When the slot begins. */
  readonly at: string;
  readonly seconds: number;
  readonly traffic: readonly EdgeTraffic[];
}

export interface TrafficFacts {
  /** Which control planes this is of: each process has a name of its own. */
  readonly planes: readonly string[];
  /** Replicas that were asked for theirs and did not answer. */
  readonly silentPlanes: number;
  /** Since when there is something to tell; edges before are not known. */
  readonly since: string;
  readonly now: string;
  /** Agents that report to this control plane now. */
  readonly reporters: number;
  readonly edges: number;
  readonly bytes: number;
  /** Of the edges, those that are counted by namespace, for want of room. */
  readonly foldedEdges: number;
}

export interface TrafficStore extends TrafficView {
  add(edge: EdgeName, side: Side, report: EdgeCounts): void;
  /** A reporter came or went. */
  reporters(more: 1 | -1): void;
}

export interface EdgeCounts {
  /** By place. */
  readonly counts: readonly number[];
  readonly flags?: Iterable<readonly [string, number]>;
  /** Over how long they were counted: they are spread over that. */
  readonly coveredMs?: number;
  /** Counts it by namespace: its reporter has named too many. */
  readonly fold?: boolean;
}

export interface TrafficStoreOptions {
  readonly now: () => Date;
  readonly monotonicMs: () => number;
  readonly maxEdges?: number;
  readonly maxBytes?: number;
}

const fine: Resolution = { slotMs: reportIntervalMs, slots: 60 };
const coarse: Resolution = { slotMs: 60_000, slots: 60 };
const longestMs = coarse.slotMs * coarse.slots;
/** So many more than maxEdges, for what is folded; beyond that all else is one edge. */
const foldedShare = 0.1;
/**
 * How much of the memory new edges may fill, and how much those that grow leave when it was too much: more, so that new ones
 * do not push out old ones.
 */
const [openTo, trimTo] = [0.9, 0.95];
const maxFlags = 16;
/** Of an edge, beside its rings: names, keys and objects, as measured. */
const edgeOverheadBytes = 1200;

interface Rings {
  readonly fine: Ring;
  readonly coarse: Ring;
}

interface Slots {
  readonly scale: keyof Rings;
  readonly slotMs: number;
  readonly from: number;
  readonly to: number;
  readonly seconds: number;
}

interface Edge {
  readonly name: EdgeName;
  readonly folded: boolean;
  readonly flags: Map<string, number>;
  readonly firstSeenMs: number;
  lastSeenMs: number;
  source?: Rings;
  destination?: Rings;
}

export function createTrafficStore(options: TrafficStoreOptions): TrafficStore {
  const { maxEdges = 5000, maxBytes = 64 * 1024 * 1024 } = options;
  // Slots have numbers from zero on, also those before the process began.
  const monotonicMs = (): number => options.monotonicMs() + 2 * longestMs;
  const edges = new Map<string, Edge>();
  const plane = randomBytes(8).toString("hex");
  const sinceMs = monotonicMs();
  let reporters = 0;
  let folded = 0;
  let bytes = 0;
  let sweptMs = sinceMs;

  const wall = (ms: number): string => new Date(options.now().getTime() - (monotonicMs() - ms)).toISOString();
  const hasRoom = (): boolean => edges.size - folded < maxEdges && bytes < openTo * maxBytes;

  function find(name: EdgeName, fold: boolean): Edge {
    const whole = edges.get(keyOf(name, false));
    if (whole && !fold) return whole;
    if (!fold && hasRoom()) return open(name, false);
    const byNamespace = foldedName(name);
    const known = edges.get(keyOf(byNamespace, true));
    if (known) return known;
    const rest =
      folded < maxEdges * foldedShare - 3 ? byNamespace : { ...byNamespace, source: nobody, destination: nobody };
    return edges.get(keyOf(rest, true)) ?? open(rest, true);
  }

  function open(name: EdgeName, isFolded: boolean): Edge {
    const nowMs = monotonicMs();
    const edge: Edge = { name, folded: isFolded, flags: new Map(), firstSeenMs: nowMs, lastSeenMs: nowMs };
    edges.set(keyOf(name, isFolded), edge);
    bytes += edgeOverheadBytes;
    if (isFolded) folded++;
    return edge;
  }

  function ringsOf(edge: Edge, side: Side): Rings {
    const known = edge[side];
    if (known) return known;
    const { protocol } = edge.name;
    const ring = ({ slots }: Resolution): Ring => new Ring(countPlaces(protocol), slots, protocol === "tcp");
    const made = { fine: ring(fine), coarse: ring(coarse) };
    edge[side] = made;
    bytes += bytesOf(made);
    return made;
  }

  /** Edges that nothing in the rings tells of. */
  function sweep(nowMs: number): void {
    if (nowMs - sweptMs < coarse.slotMs) return;
    sweptMs = nowMs;
    for (const [key, edge] of edges) if (nowMs - edge.lastSeenMs > longestMs) remove(key, edge);
  }

  function remove(key: string, edge: Edge): void {
    edges.delete(key);
    bytes -= edgeOverheadBytes + bytesOf(edge.source) + bytesOf(edge.destination);
    if (edge.folded) folded--;
  }

  /** Edges that were there may grow too: then those go that were silent for longest, to be counted by namespace. */
  function trim(): void {
    if (bytes <= maxBytes) return;
    const silentFirst = [...edges]
      .filter(([, edge]) => !edge.folded)
      .sort(([, a], [, b]) => a.lastSeenMs - b.lastSeenMs);
    for (const [key, edge] of silentFirst) {
      if (bytes <= maxBytes * trimTo) return;
      remove(key, edge);
    }
  }

  /** The slots of a range, in one resolution. */
  function slotsOf({ lastMs, endedMsAgo = 0 }: TimeRange): Slots {
    const nowMs = monotonicMs();
    const endMs = nowMs - Math.max(0, endedMsAgo);
    const beginMs = endMs - Math.max(0, lastMs);
    const scale = nowMs - beginMs <= fine.slotMs * fine.slots ? "fine" : "coarse";
    const { slotMs } = scale === "fine" ? fine : coarse;
    const [from, to] = [Math.floor(beginMs / slotMs), Math.floor(endMs / slotMs)];
    const countedMs = Math.min(nowMs, (to + 1) * slotMs) - Math.max(sinceMs, from * slotMs);
    return { scale, slotMs, from, to, seconds: Math.max(1, countedMs / 1000) };
  }

  function read(edge: Edge, scale: keyof Rings, from: number, to: number): EdgeTraffic | undefined {
    const side = (rings: Rings | undefined): readonly number[] | undefined => {
      const sums: number[] = [];
      rings?.[scale].sum(from, to, sums);
      return sums.some((value) => value > 0) ? sums : undefined;
    };
    const [bySource, byDestination] = [side(edge.source), side(edge.destination)];
    if (!bySource && !byDestination) return undefined;
    const { protocol } = edge.name;
    return {
      ...edge.name,
      folded: edge.folded,
      ...(bySource ? { bySource: countedOf(protocol, bySource) } : {}),
      ...(byDestination ? { byDestination: countedOf(protocol, byDestination) } : {}),
      flags: Object.fromEntries(edge.flags),
      firstSeen: wall(edge.firstSeenMs),
      lastSeen: wall(edge.lastSeenMs),
    };
  }

  const about = (): TrafficFacts => ({
    planes: [plane],
    silentPlanes: 0,
    since: wall(sinceMs),
    now: wall(monotonicMs()),
    reporters,
    edges: edges.size,
    bytes,
    foldedEdges: folded,
  });

  return {
    reporters(more) {
      reporters += more;
    },
    add(name, side, { counts, flags = [], coveredMs = 0, fold = false }) {
      const nowMs = monotonicMs();
      sweep(nowMs);
      const edge = find(name, fold);
      const rings = ringsOf(edge, side);
      const before = bytesOf(rings);
      edge.lastSeenMs = nowMs;
      spread(rings.fine, fine, nowMs, coveredMs, counts);
      spread(rings.coarse, coarse, nowMs, coveredMs, counts);
      bytes += bytesOf(rings) - before;
      trim();
      for (const [flag, count] of flags)
        if (edge.flags.has(flag) || edge.flags.size < maxFlags)
          edge.flags.set(flag, (edge.flags.get(flag) ?? 0) + count);
    },
    about,
    async snapshot(range) {
      const { scale, from, to, seconds } = slotsOf(range);
      const traffic = await readAll([...edges.values()], (edge) => read(edge, scale, from, to), createRest());
      return { ...about(), seconds, traffic };
    },
    async series(range, matches) {
      const { scale, slotMs, from, to } = slotsOf(range);
      const matching = [...edges.values()].filter(({ name }) => matches(name));
      const rest = createRest();
      const points: TrafficPoint[] = [];
      for (let slot = from; slot <= to; slot++) {
        const at = wall(slot * slotMs);
        const traffic = await readAll(matching, (edge) => read(edge, scale, slot, slot), rest);
        points.push({ at, seconds: slotMs / 1000, traffic });
      }
      return points;
    },
  };
}

async function readAll(
  edges: readonly Edge[],
  read: (edge: Edge) => EdgeTraffic | undefined,
  rest: Rest,
): Promise<readonly EdgeTraffic[]> {
  const found: EdgeTraffic[] = [];
  for (const edge of edges) {
    const one = read(edge);
    if (one) found.push(one);
    const resting = rest();
    if (resting) await resting;
  }
  return found;
}

const bytesOf = (rings: Rings | undefined): number => (rings ? rings.fine.bytes + rings.coarse.bytes : 0);

/** What was counted over a longer time, as after an outage, is no peak at its end. */
function spread(ring: Ring, { slotMs }: Resolution, nowMs: number, coveredMs: number, counts: readonly number[]): void {
  const now = Math.floor(nowMs / slotMs);
  const parts = Math.max(1, Math.round(coveredMs / slotMs));
  for (let part = 0; part < parts; part++) {
    const upTo = (count: number, done: number): number => Math.floor((count * done) / parts);
    const share = counts.map((count) => upTo(count, part + 1) - upTo(count, part));
    ring.add(now - parts + 1 + part, share);
  }
}

function foldedName({ source, destination, protocol }: EdgeName): EdgeName {
  const namespaceOf = ({ namespace }: EdgeName["source"]): EdgeName["source"] => ({ ...nobody, namespace });
  return { source: namespaceOf(source), destination: namespaceOf(destination), service: noService, protocol };
}

/** No name has a line break in it. */
function keyOf({ source, destination, service, protocol }: EdgeName, isFolded: boolean): string {
  const party = ({ namespace, workload }: EdgeName["source"]): string => `${namespace}/${workload}`;
  return `${protocol}\n${isFolded}\n${party(source)}\n${party(destination)}\n${service.namespace}/${service.name}\n${service.host}`;
}
