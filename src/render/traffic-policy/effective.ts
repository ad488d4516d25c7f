/** A DestinationRule's policy, its port levels and a subset's policy in; the one policy of a cluster out, with the fields it came from. */
import type { DestinationRuleSpec, MeshConfigSpec, TrafficPolicy } from "../../model/index.ts";

/** What a `portLevelSettings` entry has; the rest is only known above the ports. */
const portComponents = ["connectionPool", "loadBalancer", "outlierDetection", "tls"] as const;
const components = [...portComponents, "tunnel", "proxyProtocol", "retryBudget"] as const;
type Component = (typeof components)[number];

export type Policy = Pick<TrafficPolicy, Component>;

export interface EffectivePolicy {
  readonly policy: Policy;
  /** Path of the field that each component was taken from; those of the mesh config are not among them. */
  readonly from: ReadonlyMap<Component, string>;
}

const nothing: EffectivePolicy = { policy: {}, from: new Map() };

/** The policy for one port of a host. A port level entry replaces the policy above it whole, nothing is inherited. */
export function hostPolicy(spec: DestinationRuleSpec | undefined, port: number): EffectivePolicy {
  return levelOf(spec?.trafficPolicy, port, "spec.trafficPolicy");
}

/** A subset's own policy over the host's: component by component, and whole where the subset has settings for the port. */
export function subsetPolicy(
  base: EffectivePolicy,
  spec: DestinationRuleSpec | undefined,
  port: number,
  subset: string,
): EffectivePolicy {
  const index = spec?.subsets?.findIndex((candidate) => candidate.name === subset) ?? -1;
  const own = spec?.subsets?.[index]?.trafficPolicy;
  if (own === undefined) return base;
  const level = levelOf(own, port, `spec.subsets[${index}].trafficPolicy`);
  return overlay(base, level, level.portLevel ? portComponents : []);
}

/** What the mesh config sets for every destination holds where the rule has no such block. */
export function withMeshDefaults(effective: EffectivePolicy, settings: MeshConfigSpec): EffectivePolicy {
  const { connectionPool, outlierDetection } = settings.defaultTrafficPolicy ?? {};
  return {
    policy: {
      ...(connectionPool ? { connectionPool } : {}),
      ...(outlierDetection ? { outlierDetection } : {}),
      ...effective.policy,
    },
    from: effective.from,
  };
}

interface Level extends EffectivePolicy {
  readonly portLevel: boolean;
}

function levelOf(policy: TrafficPolicy | undefined, port: number, path: string): Level {
  if (policy === undefined) return { ...nothing, portLevel: false };
  const index = policy.portLevelSettings?.findIndex((entry) => entry.port?.number === port) ?? -1;
  const entry = policy.portLevelSettings?.[index];
  if (entry === undefined) return { ...pick(policy, components, path), portLevel: false };
  return { ...pick(entry, portComponents, `${path}.portLevelSettings[${index}]`), portLevel: true };
}

function pick(policy: Policy, wanted: readonly Component[], path: string): EffectivePolicy {
  const set = wanted.filter((component) => policy[component] !== undefined && policy[component] !== null);
  return {
    policy: Object.fromEntries(set.map((component) => [component, policy[component]])),
    from: new Map(set.map((component) => [component, `${path}.${component}`])),
  };
}

/** `cleared` components of the base are gone even where the top has none. */
function overlay(base: EffectivePolicy, top: EffectivePolicy, cleared: readonly Component[]): EffectivePolicy {
  const kept = Object.entries(base.policy).filter(([component]) => !cleared.some((gone) => gone === component));
  const keptFrom = [...base.from].filter(([component]) => !cleared.includes(component));
  return {
    policy: { ...Object.fromEntries(kept), ...top.policy },
    from: new Map([...keptFrom, ...top.from]),
  };
}
