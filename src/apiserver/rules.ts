/** RBAC's rules, pure: an action in, whether a rule allows it out; rules that somebody holds and rules to grant in, those not held out. */
import type { KubeObject } from "../model/index.ts";
import { listAt, textsAt } from "./access.ts";

export interface ResourceAction {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  /** Empty for cluster-scoped kinds, and for requests over all namespaces. */
  readonly namespace: string;
  readonly name: string;
}

export interface PathAction {
  readonly verb: string;
  readonly path: string;
}

export type Action = ResourceAction | PathAction;

export interface Rule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
  readonly nonResourceURLs: readonly string[];
}

const any = ["*"];
const none: Omit<Rule, "verbs"> = { apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: [] };

/** All that can be allowed. */
export const everyRule: readonly Rule[] = [
  { ...none, verbs: any, apiGroups: any, resources: any },
  { ...none, verbs: any, nonResourceURLs: any },
];

/** Stored objects are never changed, and every request asks for those of its user. */
const known = new WeakMap<KubeObject, readonly Rule[]>();

export function rulesOf(role: KubeObject): readonly Rule[] {
  const made = known.get(role) ?? listAt(role, "rules").map(ruleOf);
  known.set(role, made);
  return made;
}

export function ruleOf(rule: unknown): Rule {
  return {
    verbs: textsAt(rule, "verbs"),
    apiGroups: textsAt(rule, "apiGroups"),
    resources: textsAt(rule, "resources"),
    resourceNames: textsAt(rule, "resourceNames"),
    nonResourceURLs: textsAt(rule, "nonResourceURLs"),
  };
}

export function allows(rule: Rule, action: Action): boolean {
  return "path" in action ? allowsPath(rule, action) : allowsResource(rule, action);
}

/** A list of names, or what answers like one. */
interface Names {
  readonly length: number;
  includes(name: string): boolean;
}

/** A rule as it is looked things up in. */
type Lookup = Omit<Readonly<Record<keyof Rule, Names>>, "nonResourceURLs"> & Pick<Rule, "nonResourceURLs">;

function allowsResource(rule: Lookup, action: ResourceAction): boolean {
  const full = action.subresource === "" ? action.resource : `${action.resource}/${action.subresource}`;
  return (
    has(rule.verbs, action.verb) &&
    has(rule.apiGroups, action.group) &&
    (has(rule.resources, full) || (action.subresource !== "" && rule.resources.includes(`*/${action.subresource}`))) &&
    (rule.resourceNames.length === 0 || rule.resourceNames.includes(action.name))
  );
}

function allowsPath(rule: Lookup, action: PathAction): boolean {
  return (
    has(rule.verbs, action.verb) &&
    rule.nonResourceURLs.some(
      (url) => url === "*" || url === action.path || (url.endsWith("*") && action.path.startsWith(url.slice(0, -1))),
    )
  );
}

function has(list: Names, value: string): boolean {
  return list.includes("*") || list.includes(value);
}

/** Single permissions that are compared one by one: a few hundred bytes can stand for billions. */
const maxSingles = 4_096;
/** Names that are looked up: thousands of rules on one resource have each to be compared with each. */
const maxLookups = 100_000;

/** What of the granted rules none of the held rules allows, one verb on one thing each. */
export function uncovered(held: readonly Rule[], granted: readonly Rule[]): readonly Rule[] | "too many" {
  const index = indexRules(held);
  const lookups = new Map<Rule, Lookup>();
  let left = maxLookups;
  const isHeld = (rule: Rule, test: (lookup: Lookup) => boolean): boolean => {
    for (const candidates of candidatesFor(index, rule))
      for (const candidate of candidates) {
        left -= nameCount(rule);
        if (left < 0) return false;
        if (test(lookupOf(lookups, candidate))) return true;
      }
    return false;
  };
  // Who has a rule whole, as administrators do, may grant it however much it stands for.
  const open = granted.filter((rule) => !isHeld(rule, (lookup) => coversWhole(lookup, rule)));
  if (left < 0 || open.reduce((sum, rule) => sum + singleCount(rule), 0) > maxSingles) return "too many";
  const missing = open.flatMap(singleRules).filter((single) => !isHeld(single, (lookup) => covers(lookup, single)));
  return left < 0 ? "too many" : missing;
}

/** By resource, and apart those that are for all resources or for paths. */
interface RuleIndex {
  readonly byResource: ReadonlyMap<string, readonly Rule[]>;
  readonly others: readonly Rule[];
}

function indexRules(rules: readonly Rule[]): RuleIndex {
  const byResource = new Map<string, Rule[]>();
  const others: Rule[] = [];
  for (const rule of rules) {
    if (rule.resources.includes("*") || rule.nonResourceURLs.length > 0) others.push(rule);
    else
      for (const resource of rule.resources) {
        const list = byResource.get(resource) ?? [];
        list.push(rule);
        byResource.set(resource, list);
      }
  }
  return { byResource, others };
}

/** Those that may allow a rule, or the part of it on its first resource: no other can have it whole. */
function candidatesFor({ byResource, others }: RuleIndex, { resources }: Rule): readonly (readonly Rule[])[] {
  const [first = ""] = resources;
  const [, ...subresource] = first.split("/");
  const forAny = subresource.length > 0 ? byResource.get(`*/${subresource.join("/")}`) : undefined;
  return [others, byResource.get(first) ?? [], forAny ?? []];
}

const nameCount = ({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: Rule): number =>
  verbs.length + apiGroups.length + resources.length + resourceNames.length + nonResourceURLs.length;

function lookupOf(lookups: Map<Rule, Lookup>, rule: Rule): Lookup {
  const made = lookups.get(rule);
  if (made) return made;
  const { verbs, apiGroups, resources, resourceNames, nonResourceURLs } = rule;
  const lookup = {
    verbs: namesOf(verbs),
    apiGroups: namesOf(apiGroups),
    resources: namesOf(resources),
    resourceNames: namesOf(resourceNames),
    nonResourceURLs,
  };
  lookups.set(rule, lookup);
  return lookup;
}

function namesOf(list: readonly string[]): Names {
  const known = new Set(list);
  return { length: list.length, includes: (name) => known.has(name) };
}

function coversWhole(held: Lookup, { verbs, apiGroups, resources, resourceNames, nonResourceURLs }: Rule): boolean {
  return (
    nonResourceURLs.length === 0 &&
    verbs.every((verb) => has(held.verbs, verb)) &&
    apiGroups.every((group) => has(held.apiGroups, group)) &&
    resources.every((resource) => has(held.resources, resource)) &&
    (held.resourceNames.length === 0 ||
      (resourceNames.length > 0 && resourceNames.every((name) => held.resourceNames.includes(name))))
  );
}

function singleCount({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: Rule): number {
  const things = apiGroups.length * resources.length * Math.max(1, resourceNames.length);
  return (things + nonResourceURLs.length) * verbs.length;
}

function singleRules(rule: Rule): readonly Rule[] {
  const names = rule.resourceNames.length === 0 ? [[]] : rule.resourceNames.map((name) => [name]);
  const onResources = rule.apiGroups.flatMap((group) =>
    rule.resources.flatMap((resource) =>
      names.flatMap((resourceNames) =>
        rule.verbs.map((verb) => ({
          ...none,
          verbs: [verb],
          apiGroups: [group],
          resources: [resource],
          resourceNames,
        })),
      ),
    ),
  );
  const onPaths = rule.nonResourceURLs.flatMap((url) =>
    rule.verbs.map((verb) => ({ ...none, verbs: [verb], nonResourceURLs: [url] })),
  );
  return [...onResources, ...onPaths];
}

/** A wildcard that is granted has to be held as a wildcard: it stands for itself here. */
function covers(held: Lookup, single: Rule): boolean {
  const [verb = "", group = "", full = "", name = "", path] = [
    single.verbs[0],
    single.apiGroups[0],
    single.resources[0],
    single.resourceNames[0],
    single.nonResourceURLs[0],
  ];
  if (path !== undefined) return allowsPath(held, { verb, path });
  const [resource = "", ...subresource] = full.split("/");
  return allowsResource(held, { verb, group, resource, subresource: subresource.join("/"), namespace: "", name });
}
