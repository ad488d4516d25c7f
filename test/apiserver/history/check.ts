/**
 * A history in, what in it contradicts a single store whose versions only grow out. Versions give the order of all writes,
 * so a read is right when it shows the state at some version that lies between all that had been seen when it was asked
 * for and all that had been asked for when it was answered.
 */
import type { History, Operation, Segment, Version } from "./history.ts";

type Write = Extract<Operation, { readonly type: "create" | "update" | "patch" }>;

export function checkHistory(history: History): readonly string[] {
  const faults: string[] = [];
  const known = chainOf(history, faults);
  const model = createModel(known, history.operations);
  checkOperations(history, model, faults);
  for (const [i, segment] of history.segments.entries()) checkSegment(`watch ${i}`, segment, known, faults);
  return faults;
}

/** Every version that anybody has seen, in order; two who saw the same version saw the same. */
function chainOf({ operations, segments }: History, faults: string[]): readonly Version[] {
  const chain = new Map<number, Version>();
  const add = (seen: Version): void => {
    const before = chain.get(seen.version);
    if (before && (before.key !== seen.key || before.op !== seen.op))
      faults.push(`version ${seen.version} is ${text(before)} and ${text(seen)}`);
    chain.set(seen.version, seen);
  };
  for (const o of operations) {
    if (o.type === "get" && o.found) add(o.found);
    if (o.type === "list") o.items.forEach(add);
    if (isWrite(o) && o.version !== undefined) add({ key: o.key, version: o.version, op: o.op });
  }
  for (const { events } of segments) for (const { type, version } of events) if (type !== "BOOKMARK") add(version);
  return [...chain.values()].sort((a, b) => a.version - b.version);
}

const isWrite = (o: Operation): o is Write => o.type === "create" || o.type === "update" || o.type === "patch";
const text = ({ key, op }: Version): string => `${key}=${op ?? "deleted"}`;

interface Model {
  /** The newest version of the key that is known up to a version. */
  latest(key: string, upTo: number): Version | undefined;
  /** Whether a deletion whose version nobody saw can have happened between two times. */
  maybeDeleted(key: string, after: number, before: number): boolean;
  /** Whether a creation that was never answered can have happened before a time. */
  maybeCreated(key: string, before: number): boolean;
}

function createModel(chain: readonly Version[], operations: readonly Operation[]): Model {
  const byKey = Map.groupBy(chain, ({ key }) => key);
  const deletes = operations.filter((o) => o.type === "delete");
  const unanswered = operations.filter((o) => o.type === "create" && o.answered === Number.POSITIVE_INFINITY);
  return {
    latest: (key, upTo) => byKey.get(key)?.findLast(({ version }) => version <= upTo),
    maybeDeleted: (key, after, before) => deletes.some((o) => o.key === key && o.asked < before && o.answered > after),
    maybeCreated: (key, before) => unanswered.some((o) => "key" in o && o.key === key && o.asked < before),
  };
}

function checkOperations({ operations, segments }: History, model: Model, faults: string[]): void {
  const seen = seenBefore(operations, segments);
  const written = new Map(operations.filter(isWrite).map((o) => [o.op, o.asked]));
  for (const o of operations) {
    const bound = seen(o.asked);
    const fault = (why: string): void => void faults.push(`${o.type} asked at ${o.asked}: ${why}`);
    if (isWrite(o) && o.version !== undefined) checkWrite(o, bound, model, written, fault);
    if (o.type === "get") checkKey(o.key, o.found, bound, Number.POSITIVE_INFINITY, o, model, written, fault);
    if (o.type === "list") {
      if (o.version < bound) fault(`the list is of ${o.version}, after ${bound} had been seen`);
      const items = new Map(o.items.map((item) => [item.key, item]));
      for (const key of new Set([
        ...items.keys(),
        ...operations.flatMap((other) => ("key" in other ? [other.key] : [])),
      ]))
        checkKey(key, items.get(key), o.version, o.version, o, model, written, fault);
    }
  }
}

/** The greatest version that anybody had seen by a time. */
function seenBefore(operations: readonly Operation[], segments: readonly Segment[]): (time: number) => number {
  const points: (readonly [number, number])[] = [
    ...operations.flatMap((o): (readonly [number, number])[] => {
      if (o.type === "get") return o.found ? [[o.answered, o.found.version]] : [];
      if (o.type === "delete") return [];
      return o.version === undefined ? [] : [[o.answered, o.version]];
    }),
    ...segments.flatMap(({ events }) => events.map(({ at, version }) => [at, version.version] as const)),
  ];
  points.sort(([a], [b]) => a - b);
  const times = points.map(([time]) => time);
  const greatest: number[] = [];
  for (const [, version] of points) greatest.push(Math.max(version, greatest.at(-1) ?? 0));
  return (time) => greatest[times.findLastIndex((t) => t < time)] ?? 0;
}

function checkWrite(
  o: Write,
  bound: number,
  model: Model,
  written: ReadonlyMap<string, number>,
  fault: (why: string) => void,
): void {
  const version = o.version ?? 0;
  if (version <= bound) fault(`it got ${version}, after ${bound} had been seen`);
  const before = model.latest(o.key, version - 1);
  const since = written.get(before?.op ?? "") ?? 0;
  const lost = model.maybeDeleted(o.key, since, o.answered);
  if (o.type === "create" && before?.op !== undefined && !lost) fault(`${o.key} was there already, as ${text(before)}`);
  if (o.type === "update" && before?.version !== o.expected)
    fault(`it replaced ${o.expected}, but ${before?.version} was the last`);
  if (o.type === "patch" && before?.op === undefined && !model.maybeCreated(o.key, o.answered))
    fault(`${o.key} was not there`);
}

/** A read of one key is right if there is a version from `from` to `to` at which the key was as found. */
function checkKey(
  key: string,
  found: Version | undefined,
  from: number,
  to: number,
  when: { readonly asked: number; readonly answered: number },
  model: Model,
  written: ReadonlyMap<string, number>,
  fault: (why: string) => void,
): void {
  const latest = model.latest(key, from);
  if (found) {
    if (latest && latest.version > found.version)
      fault(`${text(found)} of ${found.version} was shown, ${text(latest)} of ${latest.version} had replaced it`);
    if (found.version > to) fault(`${text(found)} of ${found.version} is newer than ${to}`);
    return;
  }
  if (latest?.op === undefined) return;
  const since = written.get(latest.op) ?? 0;
  if (!model.maybeDeleted(key, since, when.answered)) fault(`${key} was not shown, and ${text(latest)} was there`);
}

/** Unique, in order, of the right type, and with nothing left out that anybody saw. */
function checkSegment(
  name: string,
  { start, present, events }: Segment,
  chain: readonly Version[],
  faults: string[],
): void {
  let last = start;
  const live = new Map(present.map((key) => [key, true]));
  for (const { type, version } of events) {
    const { version: number, key, op } = version;
    if (number < last || (type !== "BOOKMARK" && number === last))
      faults.push(`${name}: ${type} ${number} came after ${last}`);
    last = Math.max(last, number);
    if (type === "BOOKMARK") continue;
    const wanted = op === undefined ? "DELETED" : live.get(key) ? "MODIFIED" : "ADDED";
    if (type !== wanted) faults.push(`${name}: ${number} ${text(version)} was ${type}, not ${wanted}`);
    live.set(key, op !== undefined);
  }
  const got = new Set(events.filter(({ type }) => type !== "BOOKMARK").map(({ version }) => version.version));
  for (const { version } of chain)
    if (version > start && version <= last && !got.has(version)) faults.push(`${name}: ${version} was left out`);
}
