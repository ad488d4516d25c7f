/** DestinationRules as written in; for a client's namespace and a service, the merged rules that apply out. */
import type { Graph } from "../collections/index.ts";
import {
  type Config,
  compareAge,
  type DestinationRuleSpec,
  isWildcard,
  type MeshConfigSpec,
  matchesLabels,
  objectKey,
  resolveHost,
  type TrafficPolicy,
} from "../model/index.ts";
import type { MeshInputs } from "./inputs.ts";
import type { MergedDestinationRule } from "./mesh.ts";
import { mostSpecific } from "./most-specific.ts";

type DestinationRule = Config<DestinationRuleSpec>;

/**
 * Where a rule is looked for: by clients of its own namespace, by those of others, and by those of the root namespace
 * whose rules are private.
 */
type Pool = "local" | "exported" | "root";

interface Resolved {
  readonly config: DestinationRule;
  readonly host: string;
}

/** Whom a rule is for, and where it is looked for; edits of its policy do not reach it. */
interface RuleHead {
  readonly key: string;
  readonly meta: Pick<DestinationRule["meta"], "name" | "namespace" | "creationTimestamp">;
  readonly host: string;
  readonly exportTo: readonly string[];
  readonly pools: readonly Pool[];
  readonly selector: Readonly<Record<string, string>> | undefined;
}

/** Rules that become one: their keys, first one first. */
interface RuleGroup extends Pick<RuleHead, "exportTo" | "selector"> {
  readonly namespace: string;
  readonly members: readonly string[];
}

/** No name of an object has it. */
const refSeparator = "\n";

export interface DestinationRules {
  /**
   * A reference for `get`, the same wherever the same objects are merged. Labels of the client; undefined on the
   * inbound side, where rules with a selector do not count.
   */
  find(
    clientNamespace: string,
    service: { readonly host: string; readonly namespace: string },
    labels: Readonly<Record<string, string>> | undefined,
  ): string | undefined;
  get(ref: string): MergedDestinationRule | undefined;
  /** Hosts of rules that clients of this namespace see otherwise than clients of a namespace that nobody names. */
  ownHosts(clientNamespace: string): readonly string[];
}

export function createDestinationRules(graph: Graph, inputs: MeshInputs): DestinationRules {
  const rules = graph.derive<DestinationRule, Resolved>(
    "resolved DestinationRules",
    inputs.configs.destinationRules,
    (config, key) => [
      [key, { config, host: resolveHost(config.spec.host ?? "", config.meta.namespace, inputs.domain) }],
    ],
  );
  const heads = graph.derive<Resolved, RuleHead>("DestinationRule heads", rules, (rule, key) => [
    [key, headOf(key, rule, inputs.settings())],
  ]);
  const place = (pool: Pool, namespace: string): string => `${pool}|${namespace}`;
  const byHost = graph.index(heads, "host", ({ pools, meta, host }) =>
    pools.map((pool) => `${place(pool, meta.namespace)}|${host}`),
  );
  const wildcards = graph.index(heads, "wildcard", ({ pools, meta, host }) =>
    isWildcard(host) ? pools.map((pool) => place(pool, meta.namespace)) : [],
  );
  const byPool = graph.index(heads, "pool", ({ pools, meta, exportTo }) => [
    ...pools.map((pool) => place(pool, meta.namespace)),
    ...(exportTo.includes("*") ? [] : exportTo.map((word) => `to|${word}`)),
  ]);
  const hostsOf = (keys: readonly string[]): readonly string[] => [
    ...new Set(keys.flatMap((key) => heads.get(key)?.host ?? [])),
  ];
  const wildcardHosts = graph.memo<readonly string[]>("wildcard DestinationRules", (where) =>
    hostsOf(wildcards.get(where)),
  );
  const groups = graph.memo<readonly RuleGroup[]>("DestinationRule groups", (word) =>
    groupRules(byHost.get(word).flatMap((key) => heads.get(key) ?? [])),
  );
  const merged = graph.memo<MergedDestinationRule | undefined>("merged DestinationRules", (ref) =>
    mergeRules(ref.split(refSeparator).flatMap((key) => rules.get(key) ?? [])),
  );
  const inPool = (pool: Pool, namespace: string, host: string): readonly RuleGroup[] | undefined => {
    const where = place(pool, namespace);
    const found = mostSpecific(host, (name) => byHost.get(`${where}|${name}`).length > 0, wildcardHosts.get(where));
    return found === undefined ? undefined : groups.get(`${where}|${found}`);
  };
  const exported = (owner: string, host: string, client: string): readonly RuleGroup[] =>
    (inPool("exported", owner, host) ?? []).filter(
      ({ exportTo }) => exportTo.length === 0 || exportTo.includes("*") || exportTo.includes(client),
    );
  const ownPool = (client: string): Pool => (client === (inputs.settings().rootNamespace ?? "") ? "root" : "local");
  const candidates = (client: string, host: string, owner: string): readonly RuleGroup[] => {
    const own = inPool(ownPool(client), client, host);
    if (own) return own;
    const ofService = exported(owner, host, client);
    return ofService.length > 0 ? ofService : exported(inputs.settings().rootNamespace ?? "", host, client);
  };
  return {
    find(client, { host, namespace }, labels) {
      const all = candidates(client, host, namespace);
      const chosen = labels && all.find((rule) => selects(rule, client, labels));
      return (chosen ?? all.findLast(({ selector }) => !selector))?.members.join(refSeparator);
    },
    get: merged.get,
    ownHosts: (client) => [
      ...new Set([...hostsOf(byPool.get(place(ownPool(client), client))), ...hostsOf(byPool.get(`to|${client}`))]),
    ],
  };
}

function headOf(
  key: string,
  { config: { meta, spec }, host }: Resolved,
  { rootNamespace = "", defaultDestinationRuleExportTo: fallback = ["*"] }: MeshConfigSpec,
): RuleHead {
  const { name, namespace, creationTimestamp } = meta;
  // A rule for some workloads never leaves its namespace.
  const exportTo = spec.workloadSelector ? ["."] : [...new Set(spec.exportTo ?? [])].sort();
  return {
    key,
    meta: { name, namespace, ...(creationTimestamp === undefined ? {} : { creationTimestamp }) },
    host,
    exportTo,
    pools: poolsOf(exportTo, namespace, rootNamespace, fallback),
    selector: spec.workloadSelector && (spec.workloadSelector.matchLabels ?? {}),
  };
}

function selects(rule: RuleGroup, client: string, labels: Readonly<Record<string, string>>): boolean {
  return rule.selector !== undefined && rule.namespace === client && matchesLabels(rule.selector, labels);
}

function poolsOf(
  exportTo: readonly string[],
  namespace: string,
  root: string,
  fallback: readonly string[],
): readonly Pool[] {
  const isLocal = exportTo.length === 0 || exportTo.some((word) => word === "*" || word === "." || word === namespace);
  const only = exportTo.length === 1 ? exportTo[0] : undefined;
  const isPrivate = exportTo.length === 0 ? fallback.includes(".") : only === "." || only === namespace;
  const elsewhere: readonly Pool[] = isPrivate ? (namespace === root ? ["root"] : []) : ["exported"];
  return isLocal ? ["local", ...elsewhere] : elsewhere;
}

/**
 * Rules of one host in one namespace become one where they may: those with a workloadSelector first, then by age; a
 * rule joins every earlier one with the same visibility and selector, and stands for itself where none took it in.
 */
function groupRules(rules: readonly RuleHead[]): readonly RuleGroup[] {
  const order = [...rules].sort((a, b) => {
    const [x, y] = [a.selector ? 0 : 1, b.selector ? 0 : 1];
    return x - y || compareAge(a.meta, b.meta);
  });
  const out: RuleGroup[] = [];
  for (const rule of order) {
    let separate = true;
    for (const [i, existing] of out.entries()) {
      const verdict = joins(existing, rule);
      separate = verdict.separate;
      if (verdict.merge) out[i] = { ...existing, members: [...existing.members, rule.key] };
    }
    const { exportTo, selector, meta, key } = rule;
    if (separate) out.push({ exportTo, selector, namespace: meta.namespace, members: [key] });
  }
  return out;
}

/** Whether a rule is merged into an existing one, and whether it also stands for itself; the last existing one decides that. */
function joins(existing: RuleGroup, rule: RuleHead): { readonly merge: boolean; readonly separate: boolean } {
  const same =
    existing.exportTo.length === rule.exportTo.length &&
    existing.exportTo.every((word) => rule.exportTo.includes(word));
  const wider = existing.exportTo.length > 0 && existing.exportTo.every((word) => rule.exportTo.includes(word));
  if (!same && !wider) return { merge: false, separate: true };
  const [a, b] = [existing.selector, rule.selector];
  if (a && b) {
    const equal = sameLabels(a, b);
    return { merge: equal, separate: !equal };
  }
  if (!a && !b) return { merge: true, separate: false };
  return { merge: true, separate: !same };
}

function mergeRules([first, ...more]: readonly Resolved[]): MergedDestinationRule | undefined {
  if (!first) return undefined;
  const { meta, spec } = first.config;
  const start = { spec: { ...spec, host: first.host }, meta, from: [objectKey(meta)] };
  return more.reduce<MergedDestinationRule>((merged, rule) => merge(merged, rule.config), start);
}

function sameLabels(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  return Object.keys(a).length === Object.keys(b).length && matchesLabels(a, b);
}

/** Subsets with new names are added; a traffic policy only where there was none. */
function merge(existing: MergedDestinationRule, rule: DestinationRule): MergedDestinationRule {
  const subsets = existing.spec.subsets ?? [];
  const known = new Set(subsets.map((subset) => subset.name));
  const added = (rule.spec.subsets ?? []).filter((subset) => !known.has(subset.name));
  const trafficPolicy = mergedPolicy(existing, rule);
  return {
    ...existing,
    from: [...existing.from, objectKey(rule.meta)],
    spec: { ...existing.spec, subsets: [...subsets, ...added], ...(trafficPolicy ? { trafficPolicy } : {}) },
  };
}

/** Made from a BackendTLSPolicy, not written by a user. */
const isTranslated = ({ meta }: { readonly meta: DestinationRule["meta"] }): boolean =>
  meta.annotations?.["internal.istio.io/parents"] !== undefined && meta.name.includes("~");

/** Of two users the first; of a user and a policy the user's fields, with gaps filled by the policy's. */
function mergedPolicy(existing: MergedDestinationRule, added: DestinationRule): TrafficPolicy | undefined {
  const [first, second] = [existing.spec.trafficPolicy, added.spec.trafficPolicy];
  if (!first || !second || isTranslated(existing) === isTranslated(added)) return first ?? second;
  const [user, policy] = isTranslated(added) ? [first, second] : [second, first];
  const ports = mergedPorts(user.portLevelSettings ?? [], policy.portLevelSettings ?? []);
  return { ...policy, ...user, ...(ports.length > 0 ? { portLevelSettings: ports } : {}) };
}

type PortPolicies = NonNullable<TrafficPolicy["portLevelSettings"]>;

function mergedPorts(user: PortPolicies, policy: PortPolicies): PortPolicies {
  const ofPolicy = (number: number | undefined) => policy.find(({ port }) => port?.number === number);
  const known = new Set(user.map(({ port }) => port?.number));
  return [
    ...user.map((own) => ({ ...ofPolicy(own.port?.number), ...own })),
    ...policy.filter(({ port }) => !known.has(port?.number)),
  ];
}
