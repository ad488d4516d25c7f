/** Endpoints and a policy of places in; groups by locality with weights and priorities, as seen from one client, out. */
import { compareText, sortBy } from "../../lib/index.ts";
import {
  type Locality,
  type LocalityLoadBalancerSetting,
  type LocalityLoadBalancerSettingDistribute,
  type LocalityLoadBalancerSettingFailover,
  localityName,
  type ZoneAwareLoadBalancerSetting,
} from "../../model/index.ts";
import { hasAny, type LocalityPolicy, topology } from "../traffic-policy/locality.ts";
import type { Member } from "./members.ts";
import { labelOf, type Placed } from "./topology-labels.ts";

export interface LocalityGroup {
  readonly locality: Locality;
  /** 0 is used first. */
  readonly priority: number;
  /** Undefined where nothing is left in it. */
  readonly weight: number | undefined;
  readonly members: readonly Member[];
}

const maxWeight = 4294967295;

/**
 * `merge`: one group per locality, however it is spelled. Istio sends one per spelling, of which Envoy adds up the
 * endpoints but takes one weight: that does no harm only where it does not weigh localities.
 */
export function groupByLocality(members: readonly Member[], merge: boolean): readonly LocalityGroup[] {
  const groups = new Map<string, Member[]>();
  for (const member of members) {
    const name = merge ? localityName(member.endpoint.locality) : member.endpoint.place;
    const group = groups.get(name);
    if (group) group.push(member);
    else groups.set(name, [member]);
  }
  return [...groups]
    .sort(([a], [b]) => compareText(a, b))
    .flatMap(([, group]) => (group[0] ? [groupOf(group[0].endpoint.locality, 0, group)] : []));
}

/** `failover`: unhealthy endpoints will be noticed, so there is a point in having others to fall back on. */
export function placeGroups(
  groups: readonly LocalityGroup[],
  policy: LocalityPolicy,
  client: Placed,
  failover: boolean,
): readonly LocalityGroup[] {
  if (policy.kind === "zone-aware") return zoneAware(groups, policy.setting, client);
  if (policy.kind === "none") return groups;
  if (hasAny(policy.setting.distribute)) return distribute(groups, policy.setting.distribute ?? [], client.locality);
  return failover || policy.always ? fallBack(groups, policy.setting, client) : groups;
}

function groupOf(locality: Locality, priority: number, members: readonly Member[]): LocalityGroup {
  const weight = members.reduce((sum, member) => Math.min(maxWeight, sum + member.weight), 0);
  return { locality, priority, weight, members };
}

/**
 * The first entry for the client's place gives each destination its share; places that it does not name get nothing. Where
 * destinations overlap, the narrower one has what both name: istiod goes through them in whatever order Go's map has, and
 * sends something else each time.
 */
function distribute(
  groups: readonly LocalityGroup[],
  entries: readonly LocalityLoadBalancerSettingDistribute[],
  from: Locality,
): readonly LocalityGroup[] {
  const entry = entries.find((candidate) => matchesLocality(from, candidate.from ?? ""));
  if (!entry) return groups;
  const out = groups.map((group) => ({ ...group, members: [] as readonly Member[] }));
  const taken = new Set<number>();
  for (const [place, share] of narrowestFirst(entry.to ?? {})) {
    const fits = groups.flatMap((group, i) =>
      !taken.has(i) && matchesLocality(group.locality, place) ? [{ group, i }] : [],
    );
    const total = fits.reduce((sum, { group }) => sum + (group.weight ?? 1), 0);
    for (const { group, i } of fits) {
      taken.add(i);
      const weight = Math.ceil(((group.weight ?? 1) * share) / total);
      out[i] = weight > 0 ? { ...group, weight } : group;
    }
  }
  return out;
}

/** A star, and an end, come before whatever a place may be called. */
const narrowestFirst = (to: Readonly<Record<string, number>>): readonly (readonly [string, number])[] =>
  sortBy(Object.entries(to), ([place]) => place).reverse();

function fallBack(
  groups: readonly LocalityGroup[],
  { failover = [], failoverPriority = [] }: LocalityLoadBalancerSetting,
  client: Placed,
): readonly LocalityGroup[] {
  if (failoverPriority.length === 0) return byDistance(groups, failover, client.locality);
  const ranked = byLabels(groups, failoverPriority, client);
  return failover.length > 0 ? byDistance(ranked, failover, client.locality) : ranked;
}

/** Balances over the zones of the client's region; other regions come after, those named for failover first. */
function zoneAware(
  groups: readonly LocalityGroup[],
  { enabled, failover = [], failoverPriority = [] }: ZoneAwareLoadBalancerSetting,
  client: Placed,
): readonly LocalityGroup[] {
  if (enabled === false) return groups;
  const ranked = failoverPriority.length > 0 ? byLabels(groups, failoverPriority, client) : groups;
  const target = failover.find((entry) => entry.from === client.locality.region)?.to;
  return rank(ranked, 3, ({ locality }) => {
    if (locality.region === client.locality.region) return 0;
    return locality.region === target ? 1 : 2;
  });
}

/** Same sub-zone, same zone, same region, then the region named for failover, then the rest. */
function byDistance(
  groups: readonly LocalityGroup[],
  failover: readonly LocalityLoadBalancerSettingFailover[],
  from: Locality,
): readonly LocalityGroup[] {
  const entry = failover.find((candidate) => candidate.from === from.region);
  return rank(groups, 5, ({ locality }) => {
    if (locality.region !== from.region) return entry && locality.region !== entry.to ? 4 : 3;
    if (locality.zone !== from.zone) return 2;
    return locality.subZone === from.subZone ? 0 : 1;
  });
}

/**
 * Splits each locality by how many labels, from the first on, an endpoint shares with the client. A leading network
 * label is a class of its own: everything in the client's network comes before everything outside.
 */
function byLabels(
  groups: readonly LocalityGroup[],
  priorities: readonly string[],
  client: Placed,
): readonly LocalityGroup[] {
  const parts = priorities.map((entry) => entry.split("="));
  // A value that is written stands for the client's own wherever the label is named.
  const written = new Map(
    parts.flatMap(([label = "", value, ...rest]) => (value === undefined || rest.length > 0 ? [] : [[label, value]])),
  );
  const wanted = parts.map(([label = ""]) => ({ label, value: written.get(label) ?? labelOf(client, label) ?? "" }));
  const networkFirst = priorities[0] === topology.network;
  const score = ({ endpoint }: Member): number => {
    const differs = wanted.map(({ label, value }) => (endpoint.labels[label] ?? "") !== value);
    const outside = networkFirst && differs[0] === true;
    const first = differs.findIndex((different, i) => different && !(outside && i === 0));
    return (first < 0 ? 0 : priorities.length - first) + (outside ? priorities.length : 0);
  };
  const split = groups.flatMap(({ locality, members }) =>
    [...Map.groupBy(members, score)].map(([priority, part]) => groupOf(locality, priority, part)),
  );
  return compact(split);
}

/** A finer order within each priority that is already there. */
function rank(
  groups: readonly LocalityGroup[],
  steps: number,
  distance: (group: LocalityGroup) => number,
): readonly LocalityGroup[] {
  return compact(groups.map((group) => ({ ...group, priority: group.priority * steps + distance(group) })));
}

/** Envoy wants priorities without gaps. */
function compact(groups: readonly LocalityGroup[]): readonly LocalityGroup[] {
  const order = [...new Set(groups.map((group) => group.priority))].sort((a, b) => a - b);
  return groups.map((group) => ({ ...group, priority: order.indexOf(group.priority) }));
}

/** `region/zone/subzone` where a star, or nothing, stands for any. */
function matchesLocality(locality: Locality, pattern: string): boolean {
  const [region = "", zone = "", subZone = ""] = pattern.split("/");
  const fits = (wanted: string, actual: string): boolean => wanted === "*" || wanted === "" || wanted === actual;
  return (region === "*" || region === locality.region) && fits(zone, locality.zone) && fits(subZone, locality.subZone);
}
