/** What a status says and what ours should be in; the status to write, with the parts of other writers kept, out. */
import { isRecord, readList, readRecord, readText } from "../../lib/index.ts";

type Json = Readonly<Record<string, unknown>>;

/**
 * Conditions keep their time while their verdict stays, and those of types that we do not know stay as they are. Of a
 * route's parents those of other controllers stay. Fields that ours does not have are left alone.
 */
export function settleStatus(current: Json, ours: Json, now: string): Json {
  const settled = Object.fromEntries(
    Object.entries(ours).map(([field, value]) => [field, settleField(field, current[field], value, now)]),
  );
  return { ...current, ...settled };
}

function settleField(field: string, current: unknown, ours: unknown, now: string): unknown {
  if (field === "conditions") return settleConditions(readList(current), readList(ours), now);
  if (field === "parents") return settleParents("parentRef", readList(current), readList(ours), now);
  if (field === "ancestors") return settleParents("ancestorRef", readList(current), readList(ours), now);
  if (field === "listeners")
    return readList(ours)
      .map(readRecord)
      .map((listener) => settleEntry(byName(readList(current), listener), listener, now));
  return ours;
}

function settleConditions(current: readonly unknown[], ours: readonly unknown[], now: string): readonly unknown[] {
  const known = new Map(current.filter(isRecord).map((condition) => [readText(condition.type), condition]));
  const wanted = ours.filter(isRecord).map((condition) => {
    const before = known.get(readText(condition.type));
    known.delete(readText(condition.type));
    const lastTransitionTime = before?.status === condition.status ? (before?.lastTransitionTime ?? now) : now;
    return { ...condition, lastTransitionTime };
  });
  return [...wanted, ...known.values()];
}

/** A parent is told apart by its reference; one of another controller is not ours to touch. */
function settleParents(
  ref: "parentRef" | "ancestorRef",
  current: readonly unknown[],
  ours: readonly unknown[],
  now: string,
): readonly unknown[] {
  const before = current.map(readRecord);
  const mine = before.filter(({ controllerName }) => controllers.includes(readText(controllerName)));
  const settled = ours.map(readRecord).map((parent) => {
    const same = mine.find(
      (other) => other.controllerName === parent.controllerName && sameRef(other[ref], parent[ref]),
    );
    return settleEntry(same ?? {}, parent, now);
  });
  return [...settled, ...before.filter((parent) => !mine.includes(parent))];
}

/** Ours, for Gateways and for the mesh. */
const controllers: readonly string[] = ["istio.io/gateway-controller", "istio.io/mesh-controller"];

const sameRef = (a: unknown, b: unknown): boolean =>
  ["group", "kind", "namespace", "name", "sectionName", "port"].every(
    (field) => readRecord(a)[field] === readRecord(b)[field],
  );

function byName(current: readonly unknown[], listener: Json): Json {
  return current.map(readRecord).find(({ name }) => name === listener.name) ?? {};
}

/** Only conditions have times. */
function settleEntry(current: Json, ours: Json, now: string): Json {
  return { ...ours, conditions: settleConditions(ownConditions(current, ours), readList(ours.conditions), now) };
}

/** Inside an entry of ours nobody else writes: what we no longer say goes. */
function ownConditions(current: Json, ours: Json): readonly unknown[] {
  const types = new Set(readList(ours.conditions).map((condition) => readRecord(condition).type));
  return readList(current.conditions).filter((condition) => types.has(readRecord(condition).type));
}
