/** DestinationRules that are for the same clients in, first one first; the one rule that they are together out. */
import { type Config, type DestinationRuleSpec, objectKey, type TrafficPolicy } from "../model/index.ts";
import type { MergedDestinationRule } from "./mesh.ts";

type DestinationRule = Config<DestinationRuleSpec>;

/** A rule with its host in full. */
export interface Resolved {
  readonly config: DestinationRule;
  readonly host: string;
}

/** Subsets with new names are added; a traffic policy only where there was none. */
export function mergeRules([first, ...more]: readonly Resolved[]): MergedDestinationRule | undefined {
  if (!first) return undefined;
  const { meta, spec } = first.config;
  const start = { spec: { ...spec, host: first.host }, meta, from: [objectKey(meta)] };
  if (more.length === 0) return start;
  const subsets = [...(spec.subsets ?? [])];
  const known = new Set(subsets.map(({ name }) => name));
  let { trafficPolicy } = spec;
  for (const { config } of more) {
    const added = (config.spec.subsets ?? []).filter(({ name }) => !known.has(name));
    for (const subset of added) {
      known.add(subset.name);
      subsets.push(subset);
    }
    trafficPolicy = mergedPolicy({ meta, trafficPolicy }, config);
  }
  return {
    ...start,
    from: [first.config, ...more.map(({ config }) => config)].map((config) => objectKey(config.meta)),
    spec: { ...start.spec, subsets, ...(trafficPolicy ? { trafficPolicy } : {}) },
  };
}

/** Made from a BackendTLSPolicy, not written by a user. */
const isTranslated = ({ meta }: Pick<DestinationRule, "meta">): boolean =>
  meta.annotations?.["internal.istio.io/parents"] !== undefined && meta.name.includes("~");

/** Of two users the first; of a user and a policy the user's fields, with gaps filled by the policy's. */
function mergedPolicy(
  existing: Pick<DestinationRule, "meta"> & { readonly trafficPolicy: TrafficPolicy | undefined },
  added: DestinationRule,
): TrafficPolicy | undefined {
  const [first, second] = [existing.trafficPolicy, added.spec.trafficPolicy];
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
