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

export function rulesOf(role: KubeObject): readonly Rule[] {
  return listAt(role, "rules").map((rule) => ({
    verbs: textsAt(rule, "verbs"),
    apiGroups: textsAt(rule, "apiGroups"),
    resources: textsAt(rule, "resources"),
    resourceNames: textsAt(rule, "resourceNames"),
    nonResourceURLs: textsAt(rule, "nonResourceURLs"),
  }));
}

export function allows(rule: Rule, action: Action): boolean {
  return "path" in action ? allowsPath(rule, action) : allowsResource(rule, action);
}

function allowsResource(rule: Rule, action: ResourceAction): boolean {
  const full = action.subresource === "" ? action.resource : `${action.resource}/${action.subresource}`;
  return (
    has(rule.verbs, action.verb) &&
    has(rule.apiGroups, action.group) &&
    (has(rule.resources, full) || (action.subresource !== "" && rule.resources.includes(`*/${action.subresource}`))) &&
    (rule.resourceNames.length === 0 || rule.resourceNames.includes(action.name))
  );
}

function allowsPath(rule: Rule, action: PathAction): boolean {
  return (
    has(rule.verbs, action.verb) &&
    rule.nonResourceURLs.some(
      (url) => url === "*" || url === action.path || (url.endsWith("*") && action.path.startsWith(url.slice(0, -1))),
    )
  );
}

function has(list: readonly string[], value: string): boolean {
  return list.includes("*") || list.includes(value);
}

/** What of the granted rules none of the held rules allows, one verb on one thing each. */
export function uncovered(held: readonly Rule[], granted: readonly Rule[]): readonly Rule[] {
  return granted.flatMap(singleRules).filter((single) => !held.some((rule) => covers(rule, single)));
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
function covers(held: Rule, single: Rule): boolean {
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
