/**
 * What is remembered of earlier generations, and how far proxies are, in; what no proxy has, nor will have, forgotten. It is
 * done when twice as much has come together as was needed the last time, so that a change bears no more than its share.
 */
import { envoyTypes, type ResourceType } from "../../model/index.ts";
import type { ProxyProgress } from "../../xds/index.ts";
import type { EarlierGenerations } from "./earlier-generations.ts";
import type { ClassEntry, Roster } from "./roster.ts";

/** Of the graph, before the roster was put together. */
export interface Moment {
  readonly version: number;
  /** Up to which version all was made, but for what could not be. */
  readonly made: number;
}

export function* tidySteps(
  { classes }: Pick<Roster, "classes">,
  generations: EarlierGenerations,
  { version, made }: Moment,
): Generator<undefined, void> {
  // What could not be made is wanted as it was.
  const reached = classes.reduce((least, { stuckAt = made }) => Math.min(least, stuckAt), made);
  const known = new Map<string, Set<string>>();
  const unmade = new Set<string>();
  for (const [, change] of generations.entries()) {
    for (const [name, hashes] of change.earlier) {
      const all = known.get(name) ?? new Set();
      known.set(name, all);
      for (const hash of hashes) all.add(hash);
      if (change.version > reached) unmade.add(name);
    }
    yield;
  }
  const had = yield* hadOf(classes, known);
  const wanted = yield* wantedOf(classes, unmade);
  for (const [id, change] of generations.entries()) {
    // What it has made until now may be known since.
    if (change.version > version) continue;
    const isMade = change.version <= reached;
    generations.keep(id, (hash) => had.has(hash) || (!isMade && wanted.has(hash)));
    if (isMade && change.earlier.size === 0) generations.delete(id);
    yield;
  }
}

/** What proxies may have in place of what is wanted. Who is in step has nothing else. */
function* hadOf(
  classes: readonly ClassEntry[],
  known: Map<string, Set<string>>,
): Generator<undefined, ReadonlySet<string>> {
  const had = new Set<string>();
  for (const { sets, crowds } of classes)
    for (const { follows, proxies } of crowds) {
      if (follows) continue;
      for (const proxy of proxies) {
        for (const [at, type] of envoyTypes.entries()) {
          for (const name of namesOf(proxy, type, known)) {
            const now = sets[at]?.get(name)?.hash;
            for (const { hash } of proxy.mayHave(type, name))
              if (hash !== now && take(known, name, hash)) had.add(hash);
          }
          yield;
        }
        // Most have the same: of the others nothing more is to be learned.
        if (known.size === 0) return had;
      }
    }
  return had;
}

/** Those that are known, or those of which the proxy may have something else, whichever are fewer. */
function namesOf(proxy: ProxyProgress, type: ResourceType, known: ReadonlyMap<string, unknown>): readonly string[] {
  const unsettled = [...proxy.unsettled(type).take(known.size)];
  return unsettled.length < known.size ? unsettled : [...known.keys()];
}

/** False where it is not among them, or no longer. */
function take(known: Map<string, Set<string>>, name: string, hash: string): boolean {
  const hashes = known.get(name);
  if (!hashes?.delete(hash)) return false;
  if (hashes.size === 0) known.delete(name);
  return true;
}

/** Of these names, what classes have: until a change is made, whoever connects is sent what was made before it. */
function* wantedOf(
  classes: readonly ClassEntry[],
  names: ReadonlySet<string>,
): Generator<undefined, ReadonlySet<string>> {
  const wanted = new Set<string>();
  if (names.size === 0) return wanted;
  for (const layer of new Set(classes.flatMap(({ sets }) => sets.flatMap(({ layers }) => layers)))) {
    for (const name of names) {
      const hash = layer.get(name)?.hash;
      if (hash !== undefined) wanted.add(hash);
    }
    yield;
  }
  return wanted;
}

export interface TidyTimes {
  /** What is no more than this is not looked at again before twice as much has come together. */
  readonly least: number;
  /** How long it is waited first: most proxies answer soon. */
  readonly restMs: number;
  /** What somebody still has is looked at again, ever more rarely. */
  readonly maxRestMs: number;
}

export interface TidyOptions {
  /** How much is remembered. */
  size(): number;
  work(): Promise<void>;
  readonly onFault: (error: unknown) => void;
  readonly times?: Partial<TidyTimes> | undefined;
}

const usual: TidyTimes = { least: 1000, restMs: 1000, maxRestMs: 60_000 };

/** Returns what is to be called when there is more. */
export function createTidy({ size, work, onFault, times }: TidyOptions): () => void {
  const { least, restMs, maxRestMs } = { ...usual, ...times };
  let allowed = least;
  let pauseMs = restMs;
  let timer: NodeJS.Timeout | undefined;
  let [isSoon, isBusy] = [false, false];

  const lookIn = (ms: number): void => {
    clearTimeout(timer);
    isSoon = ms === restMs;
    timer = setTimeout(look, ms).unref();
  };
  const look = async (): Promise<void> => {
    isBusy = true;
    await work().catch(onFault);
    [isBusy, isSoon] = [false, false];
    allowed = Math.max(least, 2 * size());
    pauseMs = size() > least ? Math.min(2 * pauseMs, maxRestMs) : restMs;
    if (size() > least) lookIn(pauseMs);
  };
  return () => {
    if (size() > allowed && !isSoon && !isBusy) lookIn(restMs);
  };
}
