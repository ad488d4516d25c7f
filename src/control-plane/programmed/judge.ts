/** An object, and what made its parts, in; how many of the proxies that it reaches have acknowledged them out. */
import { printable } from "../../lib/index.ts";
import { envoyTypes, type Resource, type ResourceType } from "../../model/index.ts";
import { type ProxyNode, type ProxyProgress, proxyName, shortName } from "../../xds/index.ts";
import type { Crowd } from "./crowds.ts";
import type { Earlier } from "./earlier-generations.ts";
import { createPartsOf, type Made, type Part, reachFrom } from "./reach.ts";
import type { Roster } from "./roster.ts";

export interface Verdict {
  /** Proxies that are sent something because of the object, or still have what it made before. */
  readonly affected: number;
  /** Those of them that have acknowledged all of it. */
  readonly acknowledged: number;
  readonly refusing: readonly Refusing[];
  /** `pod.namespace` of those that have not answered yet, or that it could not be made for. */
  readonly waiting: readonly string[];
}

export interface Refusing {
  /** `pod.namespace`. */
  readonly proxy: string;
  /** Such as `LDS 0.0.0.0_80`. */
  readonly part: string;
  /** Of the proxy, fit for a line. */
  readonly words: string;
}

export interface JudgeInputs {
  readonly roster: Omit<Roster, "madeOf">;
  /** `Kind/namespace/name`. */
  readonly object: string;
  /** What was made from it, of the version that the roster is of. */
  readonly made: Made;
  /** Whether it is still to be found what it is that a proxy refuses. */
  readonly isOpen: (node: ProxyNode) => boolean;
  /** Where a proxy is not sent the object, as it refuses it: what it refused. Undefined where that is never done. */
  readonly withheld: ((node: ProxyNode) => Refusing | undefined) | undefined;
  /** What was made from the generations before: who still has it is not done. */
  readonly earlier: Earlier;
  /** Of the graph, that has the object as it is now; 0 where it has not changed since everybody had it. */
  readonly version: number;
  /** Whether a resource is of before, as it could not be made again. */
  readonly isStale: (resource: Resource) => boolean;
}

/** Who follows something of it and has that, and what is to be asked of whom. */
interface Standing {
  readonly having: ReadonlySet<Crowd>;
  readonly open: ReadonlyMap<Crowd, readonly Part[]>;
}

interface Tally {
  affected: number;
  acknowledged: number;
  readonly refusing: Refusing[];
  readonly waiting: string[];
}

const maxWords = 400;
const nothing: readonly never[] = [];
const nobody: ReadonlySet<ProxyNode> = new Set();

export function* judgeSteps(inputs: JudgeInputs): Generator<undefined, Verdict> {
  const { roster, earlier, withheld, isOpen } = inputs;
  const tally: Tally = { affected: 0, acknowledged: 0, refusing: [], waiting: [] };
  const without = withheld ? yield* withheldBy(roster, withheld, tally) : nobody;
  const { having, open } = yield* standingOf(inputs);
  const departed = earlier.size > 0 ? yield* departedFrom(roster, earlier) : nothingDeparted;
  const stuck = new Set([...(yield* stuckWithout(inputs)), ...(yield* staleWith(inputs))]);
  for (const crowd of having) {
    const isDone = !open.has(crowd) && !departed.has(crowd) && !stuck.has(crowd);
    if (isDone) count(tally, membersOf(crowd, without), { asked: 1, awaited: 0 });
  }
  for (const crowd of new Set([...open.keys(), ...departed.keys(), ...stuck])) {
    const members = membersOf(crowd, without);
    const [proxy] = members;
    if (!proxy) continue;
    const hasOld = stuck.has(crowd) || departed.get(crowd)?.some((old) => isStillHad(proxy, old)) === true;
    const asked = (having.has(crowd) ? 1 : 0) + (hasOld ? 1 : 0);
    count(tally, members, { asked, awaited: hasOld ? 1 : 0 }, open.get(crowd), isOpen(proxy.node));
    yield;
  }
  return tally;
}

function* withheldBy(
  { classes }: Pick<Roster, "classes">,
  withheld: (node: ProxyNode) => Refusing | undefined,
  tally: Tally,
): Generator<undefined, ReadonlySet<ProxyNode>> {
  const found = new Set<ProxyNode>();
  for (const { nodes } of classes) {
    for (const node of nodes) {
      const refusing = withheld(node);
      if (!refusing) continue;
      found.add(node);
      tally.affected++;
      tally.refusing.push(refusing);
    }
    yield;
  }
  return found;
}

/** How crowds are with all that was made from the object. */
function* standingOf({ roster, object, made }: JudgeInputs): Generator<undefined, Standing> {
  const having = new Set<Crowd>();
  const open = new Map<Crowd, readonly Part[]>();
  const ask = (crowd: Crowd, parts: readonly Part[]): void => {
    const known = open.get(crowd);
    open.set(crowd, known ? [...known, ...parts] : parts);
  };
  for (const resources of made) {
    const standing = roster.where.standing(resources);
    for (const crowd of standing.having) having.add(crowd);
    for (const [crowd, parts] of standing.open) ask(crowd, parts);
    yield;
  }
  if (roster.patched.length === 0) return { having, open };
  const partsOf = createPartsOf(object, reachFrom(made));
  for (const { renderer, crowds } of roster.patched) {
    const parts = partsOf(renderer);
    if (parts.length > 0) for (const crowd of crowds) ask(crowd, parts);
    yield;
  }
  return { having, open };
}

interface Departed {
  readonly type: ResourceType;
  readonly name: string;
  readonly hashes: ReadonlySet<string>;
}

const nothingDeparted: ReadonlyMap<Crowd, readonly Departed[]> = new Map();

/** What the generations before had a part in, but for what is wanted now. */
function* departedFrom(
  { classes }: Pick<Roster, "classes">,
  earlier: Earlier,
): Generator<undefined, ReadonlyMap<Crowd, readonly Departed[]>> {
  const found = new Map<Crowd, readonly Departed[]>();
  for (const { sets, crowds } of classes) {
    // Who has all that the class has, has nothing else.
    const behind = crowds.filter(({ follows }) => !follows);
    if (behind.length === 0) continue;
    const departed = envoyTypes.flatMap((type, at) =>
      [...earlier].flatMap(([name, hashes]) => {
        const now = sets[at]?.get(name)?.hash;
        const others = now !== undefined && hashes.has(now) ? hashes.difference(new Set([now])) : hashes;
        return others.size === 0 ? [] : [{ type, name, hashes: others }];
      }),
    );
    if (departed.length > 0) for (const crowd of behind) found.set(crowd, departed);
    yield;
  }
  return found;
}

/** Be it that it is on its way: then it is not everywhere either. */
function isStillHad(proxy: ProxyProgress, { type, name, hashes }: Departed): boolean {
  for (const { hash } of proxy.mayHave(type, name)) if (hashes.has(hash)) return true;
  return false;
}

/**
 * Whose class could not be made since the object changed, and has something else by a name that the object has a part in:
 * be it another object's, nobody knows before it is made.
 */
function* stuckWithout(inputs: JudgeInputs): Generator<undefined, ReadonlySet<Crowd>> {
  const { roster, object, made, earlier, version } = inputs;
  const found = new Set<Crowd>();
  const classes = roster.classes.filter(({ stuckAt = version }) => stuckAt < version);
  if (classes.length === 0) return found;
  const now = reachFrom(made);
  const names = [...new Set([...now.keys(), ...earlier.keys()])];
  const isOther = (name: string, had: Resource): boolean =>
    now.get(name)?.has(had) !== true && (now.has(name) || earlier.get(name)?.has(had.hash) === true);
  for (const { renderer, sets, crowds } of classes) {
    // What it has of a filter is what the generation before has patched, and was taken for made from this one.
    const isPatched = isFilterOf(renderer.proxy.envoyFilters, object);
    const others = envoyTypes.flatMap((type, at) =>
      names.flatMap((name) => {
        const had = sets[at]?.get(name);
        return had && isOther(name, had) ? [{ type, had }] : [];
      }),
    );
    for (const crowd of crowds)
      if (isPatched || others.some(({ type, had }) => isAskedFor(crowd, type, had))) found.add(crowd);
    yield;
  }
  return found;
}

/** Who follows something that the object has a part in, and that could not be made again since it changed. */
function* staleWith({ roster, made, version, isStale }: JudgeInputs): Generator<undefined, ReadonlySet<Crowd>> {
  const found = new Set<Crowd>();
  if (version === 0) return found;
  const stale = made.flatMap((resources) => resources.filter(isStale));
  if (stale.length === 0) return found;
  const { having, open } = roster.where.standing(stale);
  for (const crowd of having) found.add(crowd);
  for (const [crowd, parts] of open)
    if (parts.some(({ type, wanted }) => isAskedFor(crowd, type, wanted))) found.add(crowd);
  for (const { sets, crowds } of roster.patched) {
    const had = envoyTypes.flatMap((type, at) =>
      stale.flatMap(({ name }) => {
        const patched = sets[at]?.get(name);
        return patched ? [{ type, patched }] : [];
      }),
    );
    for (const crowd of crowds) if (had.some(({ type, patched }) => isAskedFor(crowd, type, patched))) found.add(crowd);
    yield;
  }
  return found;
}

const isFilterOf = (filters: readonly string[], object: string): boolean =>
  filters.some((filter) => object === `EnvoyFilter/${filter}`);

function isAskedFor({ follows, proxies: [proxy] }: Crowd, type: ResourceType, had: Resource): boolean {
  return follows ? follows[envoyTypes.indexOf(type)]?.has(had.name) === true : proxy.of(type, had) !== "unasked";
}

const membersOf = ({ proxies }: Crowd, without: ReadonlySet<ProxyNode>): readonly ProxyProgress[] =>
  without.size === 0 ? proxies : proxies.filter(({ node }) => !without.has(node));

/** Of a crowd the first answers for all. */
function count(
  tally: Tally,
  members: readonly ProxyProgress[],
  known: { readonly asked: number; readonly awaited: number },
  parts: readonly Part[] = nothing,
  isOpen = false,
): void {
  const [proxy] = members;
  if (!proxy) return;
  let [asked, awaited, refused] = [known.asked, known.awaited, 0];
  for (const { type, wanted } of parts) {
    const progress = proxy.of(type, wanted);
    if (progress === "unasked") continue;
    asked++;
    if (progress === "awaited" || (progress === "refused" && isOpen)) awaited++;
    if (progress !== "refused" || isOpen) continue;
    refused++;
    const part = `${shortName(type)} ${printable(wanted.name)}`;
    if (refused > 1) continue;
    const words = printable(proxy.words(type, wanted.name).slice(0, maxWords));
    tally.refusing.push({ proxy: nameOf(proxy), part, words });
  }
  if (asked === 0) return;
  tally.affected += members.length;
  if (refused + awaited === 0) tally.acknowledged += members.length;
  else if (refused === 0) tally.waiting.push(...members.map(nameOf));
}

const nameOf = ({ node }: ProxyProgress): string => printable(proxyName(node));
