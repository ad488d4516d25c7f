/** A stream that is behind, or asks for names of its own, in; its next response out, from the names that may differ. */
import { type Resource, type ResourceSet, types } from "../../model/index.ts";
import { isWholeSet } from "../type-info.ts";
import { isOutdated } from "./outdated.ts";
import type { Plan, Planning } from "./planning.ts";
import type { TypeState } from "./type-state.ts";
import { wantedOf } from "./wanted.ts";

interface Decision {
  readonly name: string;
  /** Asked for by its name. */
  readonly named: boolean;
  readonly wanted: Resource | undefined;
  readonly sent: Resource | undefined;
  /** What the client shall have for now. */
  readonly next: Resource | undefined;
  /** It does not exist, but must not be said to be missing yet. */
  readonly silent: boolean;
}

export function planOwn(state: TypeState, current: ResourceSet, planning: Planning, nowMs: number): Plan | undefined {
  const from = { session: planning.session, current };
  const found: Find = (name, named) => wantedOf(state, from, name, named);
  const wanted = (name: string): Resource | undefined => wantedOf(state, from, name);
  state.refusals?.keep((name) => wanted(name)?.hash);
  const whole = planning.variant === "sotw" && isWholeSet(state.type);
  const names = candidates(state, current, planning);
  planning.steps.look(names.size);
  const looked = lookUp(state, names, found, whole ? undefined : planning);
  const decisions = decide(state, looked.found, planning, nowMs);
  // A whole set with a part left out would delete that part, so a first answer waits as one.
  if (whole && !state.answered && planning.holdBack.waitingTypes().has(state.type)) return undefined;
  const untold = planning.variant === "delta" ? untoldNames(state, decisions) : [];
  const plan = planOf(state, decisions, untold);
  const isOnlyChanges = plan.changes.size > 0 && untold.length + looked.late.length === 0;
  const mayWait = whole || (isOnlyChanges && takesBack(state, planning));
  if (mayWait && !isNews(state, plan, wanted)) {
    // What is not sent is not known to the client: it stays with what it was sent.
    apply(
      state,
      current,
      decisions.map((one) => ({ ...one, next: one.sent })),
    );
    return undefined;
  }
  if (looked.late.length > 0) {
    leave(state, looked.late);
    planning.goOn(state.type);
  }
  apply(state, current, decisions);
  state.sentAgain();
  if (whole) return { ...plan, resources: wholeOf(state, current), removed: [], whole: true };
  const removed = planning.variant === "delta" ? plan.removed : [];
  if (plan.resources.length === 0 && removed.length === 0 && !state.mustAnswer) return undefined;
  return { ...plan, removed };
}

/** What the client shall have of a name; all of them have been looked up among the named ones once. */
type Find = (name: string, named: boolean) => Resource | undefined;

function candidates(state: TypeState, current: ResourceSet, { steps }: Planning): ReadonlySet<string> {
  // A stream may ask for very many: those of its first request need not be put together.
  if (isOfNames(state) && state.names.pooled) return state.names.pooled;
  const names = new Set(state.own.keys());
  for (const some of [state.mustSend, state.refusals?.names() ?? none, state.news ?? state.names])
    for (const name of some) names.add(name);
  if (!state.news && state.wildcard)
    for (const name of steps.between(state.base, current).changes.keys()) names.add(name);
  return names;
}

/** Of nothing but what it asks for something may differ. */
const isOfNames = (state: TypeState): boolean => !state.news && !state.wildcard && state.isInStep;

/** What is decided of it is filled in later, so that there is one object for each of very many names. */
type Found = Omit<Decision, "next" | "silent"> & { next: Decision["next"]; silent: boolean };

interface LookedUp {
  readonly found: readonly Found[];
  /** Left to the next response. */
  readonly late: readonly string[];
}

/** What takes long is left for later where there is a `pace`: somebody may ask for any number of names. */
function lookUp(state: TypeState, names: ReadonlySet<string>, found: Find, pace: Planning | undefined): LookedUp {
  const isOver = pace?.look();
  const areNamed = names === state.names.pooled;
  const all: Found[] = [];
  const late: string[] = [];
  for (const name of names) {
    if (late.length > 0 || isOver?.()) {
      late.push(name);
      continue;
    }
    const named = areNamed || state.names.has(name);
    const sent = state.sent(name, named);
    all.push({ name, named, wanted: found(name, named), sent, next: undefined, silent: false });
  }
  return { found: all, late };
}

/** Until the next response the client has what it has; said to be without what it must be sent again, it is sent that. */
function leave(state: TypeState, names: readonly string[]): void {
  const { own, mustSend } = state;
  for (const name of names) {
    if (mustSend.has(name)) own.set(name, undefined);
    else if (!own.has(name)) own.set(name, state.sent(name));
  }
}

function decide(state: TypeState, all: readonly Found[], planning: Planning, nowMs: number): readonly Decision[] {
  const { holdBack } = planning;
  const gone = new Set(all.filter(({ wanted, sent }) => sent && !wanted).map(({ name }) => name));
  const named = state.type === types.cluster && gone.size > 0 ? holdBack.stillUsed(gone, nowMs) : none;
  const isTakenBack = takesBack(state, planning);
  // Of what it has of an earlier stream only the version may be known.
  const before = (name: string, sent: Resource | undefined): Resource | undefined =>
    isOutdated(state.accepted(name)) ? sent : state.accepted(name);
  const next = ({ name, wanted, sent }: Found): Resource | undefined => {
    if (!wanted) return sent && (named.has(name) || holdBack.keepsEndpoints(state, name)) ? sent : undefined;
    // A version that the client refused is not offered again with every change of the set; what it had before stays.
    if (isTakenBack && state.wildcard && state.refusals?.was(name, wanted.hash)) return before(name, sent);
    return wanted.hash === sent?.hash || holdBack.mayGo(state, wanted, nowMs) ? wanted : sent;
  };
  // Endpoints said to be missing would make Envoy use a cluster that is about to go, without any.
  const silent = ({ name, wanted, sent }: Found): boolean => !wanted && !sent && holdBack.keepsEndpoints(state, name);
  for (const one of all) {
    one.next = next(one);
    one.silent = silent(one);
  }
  return all;
}

const none: ReadonlySet<string> = new Set();

/** Names that were asked for and do not exist: said once, so that the client need not wait for its timeout. */
function untoldNames(state: TypeState, decisions: readonly Decision[]): readonly string[] {
  return decisions
    .filter(({ name, named, wanted, sent, silent }) => {
      const isMissing = named && !wanted && !sent && !silent;
      return isMissing && (!state.news || state.own.has(name));
    })
    .map(({ name }) => name);
}

function planOf(state: TypeState, decisions: readonly Decision[], untold: readonly string[]): Plan {
  const changes = new Map<string, Resource | undefined>();
  const before = new Map<string, Resource | undefined>();
  const resources: Resource[] = [];
  const removed = [...untold];
  for (const { name, sent, next } of decisions) {
    if (sent?.hash === next?.hash && !(next && state.mustSend.has(name))) continue;
    changes.set(name, next);
    before.set(name, sent);
    if (next) resources.push(next);
    else removed.push(name);
  }
  return { resources, removed, changes, before, whole: false };
}

function apply(state: TypeState, current: ResourceSet, decisions: readonly Decision[]): void {
  for (const { name, wanted, next, silent } of decisions) {
    if (wanted && current.get(name) !== wanted) state.extras.set(name, wanted);
    else state.extras.delete(name);
    if (next?.hash === wanted?.hash && !silent) state.own.delete(name);
    else state.own.set(name, next);
  }
  state.reach(current);
}

/** Whether what the client refused is taken back: from a whole set, and of clusters, as Envoy may have them half-made. */
const takesBack = (state: TypeState, { variant }: Planning): boolean =>
  variant === "sotw" ? isWholeSet(state.type) : state.type === types.cluster;

/** Taking back what the client refused anyway is no reason for a response of its own. */
function isNews(state: TypeState, { changes }: Plan, wanted: (name: string) => Resource | undefined): boolean {
  if (state.mustAnswer) return true;
  for (const name of changes.keys())
    if (!state.wildcard || !state.refusals?.was(name, wanted(name)?.hash ?? "")) return true;
  return false;
}

function wholeOf(state: TypeState, current: ResourceSet): readonly Resource[] {
  const names = new Set(state.wildcard ? current.names() : state.names);
  for (const name of state.own.keys()) names.add(name);
  return [...names].map((name) => state.sent(name)).filter((resource) => resource !== undefined);
}
