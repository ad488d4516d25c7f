/** DestinationRules as written in; for a client's namespace and a service, the merged rules that apply out. */
import type { Graph } from "../collections/index.ts";
import {
  type Config,
  compareAge,
  type DestinationRuleSpec,
  isWildcard,
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
  readonly key: string;
  readonly config: DestinationRule;
  readonly host: string;
  readonly exportTo: readonly string[];
  readonly pools: readonly Pool[];
}

interface Consolidated extends MergedDestinationRule {
  readonly exportTo: readonly string[];
}

export interface DestinationRules {
  /** Labels of the client; undefined on the inbound side, where rules with a selector do not count. */
  find(
    clientNamespace: string,
    service: { readonly host: string; readonly namespace: string },
    labels: Readonly<Record<string, string>> | undefined,
  ): MergedDestinationRule | undefined;
}

export function createDestinationRules(graph: Graph, inputs: MeshInputs): DestinationRules {
  const rules = graph.derive<DestinationRule, Resolved>(
    "resolved DestinationRules",
    inputs.configs.destinationRules,
    (config, key) => {
      const { rootNamespace, defaultDestinationRuleExportTo: fallback = ["*"] } = inputs.settings();
      const host = resolveHost(config.spec.host ?? "", config.meta.namespace, inputs.domain);
      // A rule for some workloads never leaves its namespace.
      const exportTo = config.spec.workloadSelector ? ["."] : [...new Set(config.spec.exportTo ?? [])].sort();
      return [
        [
          key,
          {
            key,
            config,
            host,
            exportTo,
            pools: poolsOf(exportTo, config.meta.namespace, rootNamespace ?? "", fallback),
          },
        ],
      ];
    },
  );
  const place = (pool: Pool, namespace: string): string => `${pool}|${namespace}`;
  const byHost = graph.index(rules, "host", (rule) =>
    rule.pools.map((pool) => `${place(pool, rule.config.meta.namespace)}|${rule.host}`),
  );
  const wildcards = graph.index(rules, "wildcard", (rule) =>
    isWildcard(rule.host) ? rule.pools.map((pool) => place(pool, rule.config.meta.namespace)) : [],
  );
  const wildcardHosts = graph.memo<readonly string[]>("wildcard DestinationRules", (where) => [
    ...new Set(wildcards.get(where).flatMap((key) => rules.get(key)?.host ?? [])),
  ]);
  const consolidated = graph.memo<readonly Consolidated[]>("consolidated DestinationRules", (word) =>
    consolidate(byHost.get(word).flatMap((key) => rules.get(key) ?? [])),
  );
  const inPool = (pool: Pool, namespace: string, host: string): readonly Consolidated[] | undefined => {
    const where = place(pool, namespace);
    const found = mostSpecific(host, (name) => byHost.get(`${where}|${name}`).length > 0, wildcardHosts.get(where));
    return found === undefined ? undefined : consolidated.get(`${where}|${found}`);
  };
  const exported = (owner: string, host: string, client: string): readonly Consolidated[] =>
    (inPool("exported", owner, host) ?? []).filter(
      ({ exportTo }) => exportTo.length === 0 || exportTo.includes("*") || exportTo.includes(client),
    );
  const candidates = (client: string, host: string, owner: string): readonly Consolidated[] => {
    const root = inputs.settings().rootNamespace ?? "";
    const own = inPool(client === root ? "root" : "local", client, host);
    if (own) return own;
    const ofService = exported(owner, host, client);
    return ofService.length > 0 ? ofService : exported(root, host, client);
  };
  return {
    find(client, { host, namespace }, labels) {
      const all = candidates(client, host, namespace);
      const chosen = labels && all.find((rule) => selects(rule, client, labels));
      return chosen ?? all.findLast((rule) => !rule.spec.workloadSelector);
    },
  };
}

function selects(rule: Consolidated, client: string, labels: Readonly<Record<string, string>>): boolean {
  const selector = rule.spec.workloadSelector;
  return selector !== undefined && rule.meta.namespace === client && matchesLabels(selector.matchLabels ?? {}, labels);
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
function consolidate(rules: readonly Resolved[]): readonly Consolidated[] {
  const order = [...rules].sort((a, b) => {
    const [x, y] = [a.config.spec.workloadSelector ? 0 : 1, b.config.spec.workloadSelector ? 0 : 1];
    return x - y || compareAge(a.config.meta, b.config.meta);
  });
  const out: Consolidated[] = [];
  for (const rule of order) {
    let separate = true;
    for (const [i, existing] of out.entries()) {
      const verdict = joins(existing, rule);
      separate = verdict.separate;
      if (verdict.merge) out[i] = merge(existing, rule);
    }
    if (separate)
      out.push({
        spec: { ...rule.config.spec, host: rule.host },
        meta: rule.config.meta,
        from: [rule.key],
        exportTo: rule.exportTo,
      });
  }
  return out;
}

/** Whether a rule is merged into an existing one, and whether it also stands for itself; the last existing one decides that. */
function joins(existing: Consolidated, rule: Resolved): { readonly merge: boolean; readonly separate: boolean } {
  const same =
    existing.exportTo.length === rule.exportTo.length &&
    existing.exportTo.every((word) => rule.exportTo.includes(word));
  const wider = existing.exportTo.length > 0 && existing.exportTo.every((word) => rule.exportTo.includes(word));
  if (!same && !wider) return { merge: false, separate: true };
  const [a, b] = [existing.spec.workloadSelector, rule.config.spec.workloadSelector];
  if (a && b) {
    const equal = sameLabels(a.matchLabels ?? {}, b.matchLabels ?? {});
    return { merge: equal, separate: !equal };
  }
  if (!a && !b) return { merge: true, separate: false };
  return { merge: true, separate: !same };
}

function sameLabels(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  return Object.keys(a).length === Object.keys(b).length && matchesLabels(a, b);
}

/** Subsets with new names are added; a traffic policy only where there was none. */
function merge(existing: Consolidated, rule: Resolved): Consolidated {
  const subsets = existing.spec.subsets ?? [];
  const known = new Set(subsets.map((subset) => subset.name));
  const added = (rule.config.spec.subsets ?? []).filter((subset) => !known.has(subset.name));
  const trafficPolicy = mergedPolicy(existing, rule.config);
  return {
    ...existing,
    from: [...existing.from, objectKey(rule.config.meta)],
    spec: { ...existing.spec, subsets: [...subsets, ...added], ...(trafficPolicy ? { trafficPolicy } : {}) },
  };
}

/** Made from a BackendTLSPolicy, not written by a user. */
const isTranslated = ({ meta }: { readonly meta: DestinationRule["meta"] }): boolean =>
  meta.annotations?.["internal.istio.io/parents"] !== undefined && meta.name.includes("~");

/** Of two users the first; of a user and a policy the user's fields, with gaps filled by the policy's. */
function mergedPolicy(existing: Consolidated, added: DestinationRule): TrafficPolicy | undefined {
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
