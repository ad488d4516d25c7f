/** DestinationRules of one host in one namespace in; which of them become one, and for which clients, out. */
import { digest, inKeyOrder } from "../lib/index.ts";
import { compareAge, type ObjectId, type ObjectMeta } from "../model/index.ts";

/** Whom a rule is for, and where it is looked for; edits of its policy do not reach it. */
export interface RuleHead {
  readonly key: string;
  readonly meta: ObjectId & Pick<ObjectMeta, "creationTimestamp">;
  readonly host: string;
  /** Sorted, each once; of a rule with a selector its own namespace alone. */
  readonly exportTo: readonly string[];
  readonly pools: readonly Pool[];
  readonly selector: Readonly<Record<string, string>> | undefined;
}

/**
 * Where a rule is looked for: by clients of its own namespace, by those of others, and by those of the root namespace
 * whose rules are private.
 */
export const allPools = ["local", "exported", "root"] as const;
export type Pool = (typeof allPools)[number];

/** Rules that become one: their keys, first one first. */
export interface RuleGroup {
  /** The same wherever the same objects are merged. */
  readonly ref: string;
  readonly members: readonly string[];
}

export interface OpenGroup extends RuleGroup {
  readonly exportTo: readonly string[];
}

export interface SelectedGroup extends RuleGroup {
  readonly selector: Readonly<Record<string, string>>;
}

/** All of one host in one namespace. */
export interface HostRules {
  /** For clients of the namespace with these labels; a selector is there once. */
  readonly selected: readonly SelectedGroup[];
  /** Members of all those that are selected, after their own: one list, however many selectors there are. */
  readonly common: readonly string[];
  /** For all clients that see them. */
  readonly open: readonly OpenGroup[];
}

/** No name of an object has it. */
const separator = "\n";
/** In front of the digest that stands for many members; no key begins with it. */
const digested = "#";
/** Services that a wildcard covers have the reference in all that is decided of them: it must not grow with the members. */
const longestRef = 400;

/** The members, where the reference says them. */
export const membersSaid = (ref: string): readonly string[] | undefined =>
  ref.startsWith(digested) ? undefined : ref.split(separator);

/** Of a group whose reference does not say them. */
export function membersOf({ selected, common, open }: HostRules, ref: string): readonly string[] | undefined {
  const chosen = selected.find((group) => group.ref === ref);
  return chosen ? [...chosen.members, ...common] : open.find((group) => group.ref === ref)?.members;
}

/**
 * Those with a workloadSelector first, then by age; a rule joins every earlier one with the same visibility and selector,
 * and stands for itself where the last of these did not take it in.
 */
export function groupRules(rules: readonly RuleHead[]): HostRules {
  const order = rules.toSorted((a, b) => compareAge(a.meta, b.meta));
  const selected = new Map<string, { readonly selector: SelectedGroup["selector"]; readonly members: string[] }>();
  for (const { selector, key } of order) {
    if (!selector) continue;
    const text = JSON.stringify(inKeyOrder(selector));
    const known = selected.get(text);
    if (known) known.members.push(key);
    else selected.set(text, { selector, members: [key] });
  }
  const common: string[] = [];
  const open = createOpenRules(order);
  for (const { selector, key, exportTo } of order) {
    if (selector) continue;
    const covers = coveredBy(exportTo);
    open.join(key, exportTo, covers);
    if (covers(ownNamespace)) common.push(key);
    const last = open.last();
    // As in Istio, a rule that nobody else sees has no group of its own beside one with a selector.
    const isTaken = last ? covers(last.exportTo) : selected.size > 0 && exportTo.length === 1 && covers(ownNamespace);
    if (!isTaken) open.add(key, exportTo);
  }
  const refOf = createRefs(rules[0], common);
  return {
    selected: Array.from(selected.values(), (group) => ({ ...group, ref: refOf(group.members, "with common") })),
    common,
    open: Array.from(open.all(), ({ exportTo, members }) => ({ exportTo, members, ref: refOf(members) })),
  };
}

const ownNamespace: readonly string[] = ["."];

interface OpenRules {
  readonly exportTo: readonly string[];
  /** The same, with what the fewest rules name first: most that do not see all of it lack one of these. */
  readonly rarest: readonly string[];
  readonly members: string[];
}

/**
 * Groups in the order in which they were added. Of two with the same visibility the later one is for all clients that see
 * them: only that is kept, or rules that alternate would all be members of as many groups as there are rules.
 */
function createOpenRules(rules: readonly RuleHead[]) {
  const groups = new Map<string, OpenRules>();
  /** Who sees all clients of a group names the rarest of them too. */
  const byRarest = new Map<string, Map<string, OpenRules>>();
  const rarestFirst = createRarestFirst(rules);
  let last: OpenRules | undefined;
  return {
    last: () => last,
    all: () => groups.values(),
    join(key: string, exportTo: readonly string[], covers: Covers): void {
      for (const word of exportTo.length === 0 ? [""] : exportTo)
        for (const group of byRarest.get(word)?.values() ?? []) if (covers(group.rarest)) group.members.push(key);
    },
    add(key: string, exportTo: readonly string[]): void {
      const [text, rarest] = [exportTo.join(separator), rarestFirst(exportTo)];
      const [word = ""] = rarest;
      last = { exportTo, rarest, members: [key] };
      groups.delete(text);
      groups.set(text, last);
      byRarest.set(word, (byRarest.get(word) ?? new Map<string, OpenRules>()).set(text, last));
    },
  };
}

/** Words in the order of how many rules are exported to them. */
function createRarestFirst(rules: readonly RuleHead[]): (words: readonly string[]) => readonly string[] {
  const uses = new Map<string, number>();
  for (const { exportTo } of rules) for (const word of exportTo) uses.set(word, (uses.get(word) ?? 0) + 1);
  return (words) => words.toSorted((a, b) => (uses.get(a) ?? 0) - (uses.get(b) ?? 0));
}

/** Whether a rule is seen by all who see a group. */
type Covers = (group: readonly string[]) => boolean;

/** Of a rule that is exported to these. */
function coveredBy(exportTo: readonly string[]): Covers {
  const words = new Set(exportTo);
  return (group) => (group.length === 0 ? words.size === 0 : group.every((word) => words.has(word)));
}

/** Where members are too many to be said, the place where the group is found, and what it must be. */
function createRefs(
  first: RuleHead | undefined,
  common: readonly string[],
): (members: readonly string[], more?: "with common") => string {
  const place = `${first?.meta.namespace}|${first?.host}`;
  const commonText = common.join(separator);
  const commonDigest = digest(commonText);
  return (members, more) => {
    const own = members.join(separator);
    const hasMore = more !== undefined && common.length > 0;
    if (own.length + (hasMore ? commonText.length : 0) <= longestRef)
      return hasMore ? `${own}${separator}${commonText}` : own;
    return `${digested}${digest(`${own}${separator}${hasMore ? commonDigest : ""}`)}|${place}`;
  };
}

/** `namespace|host` of the group that a reference stands for without saying its members. */
export const placeOf = (ref: string): string => ref.slice(ref.indexOf("|") + 1);
