/** DestinationRules as written in; for a client's namespace and a service, the merged rules that apply out. */
import type { Graph } from "../collections/index.ts";
import {
  type Config,
  type DestinationRuleSpec,
  isWildcard,
  type MeshConfigSpec,
  matchesLabels,
  resolveHost,
} from "../model/index.ts";
import type { MeshInputs } from "./inputs.ts";
import { mergeRules, type Resolved } from "./merged-rule.ts";
import type { MergedDestinationRule } from "./mesh.ts";
import { mostSpecific } from "./most-specific.ts";
import {
  allPools,
  groupRules,
  type HostRules,
  membersOf,
  membersSaid,
  type OpenGroup,
  type Pool,
  placeOf,
  type RuleHead,
} from "./rule-groups.ts";

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
  const rules = graph.derive<Config<DestinationRuleSpec>, Resolved>(
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
  const groups = graph.memo<HostRules>("DestinationRule groups", (word) =>
    groupRules(byHost.get(word).flatMap((key) => heads.get(key) ?? [])),
  );
  const membersAt = (ref: string): readonly string[] => {
    for (const pool of allPools) {
      const found = membersOf(groups.get(`${pool}|${placeOf(ref)}`), ref);
      if (found) return found;
    }
    return [];
  };
  const merged = graph.memo<MergedDestinationRule | undefined>("merged DestinationRules", (ref) =>
    mergeRules((membersSaid(ref) ?? membersAt(ref)).flatMap((key) => rules.get(key) ?? [])),
  );
  const inPool = (pool: Pool, namespace: string, host: string): HostRules | undefined => {
    const where = place(pool, namespace);
    const found = mostSpecific(host, (name) => byHost.get(`${where}|${name}`).length > 0, wildcardHosts.get(where));
    return found === undefined ? undefined : groups.get(`${where}|${found}`);
  };
  /** What leaves its namespace has no selector. */
  const exported = (owner: string, host: string, client: string): readonly OpenGroup[] =>
    (inPool("exported", owner, host)?.open ?? []).filter(
      ({ exportTo }) => exportTo.length === 0 || exportTo.includes("*") || exportTo.includes(client),
    );
  const ownPool = (client: string): Pool => (client === (inputs.settings().rootNamespace ?? "") ? "root" : "local");
  return {
    find(client, { host, namespace }, labels) {
      const own = inPool(ownPool(client), client, host);
      if (own) {
        const chosen = labels && own.selected.find(({ selector }) => matchesLabels(selector, labels));
        return (chosen ?? own.open.at(-1))?.ref;
      }
      const ofService = exported(namespace, host, client).at(-1);
      return (ofService ?? exported(inputs.settings().rootNamespace ?? "", host, client).at(-1))?.ref;
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
