/** What a proxy is sent before and after, and which names differ, in; the differences in words out. */
import { ClusterLoadAssignmentSchema } from "../../gen/envoy/config/endpoint/v3/endpoint_pb.js";
import { type Resource, type ResourceSet, type ResourceType, routeHostName, types } from "../../model/index.ts";
import type { Change, Pair } from "./change.ts";
import { clusterChanges } from "./cluster.ts";
import { clusterWord, parseClusterName } from "./cluster-name.ts";
import { decoded } from "./decoded.ts";
import { endpointChanges, endpointCount } from "./endpoint.ts";
import { listenerChanges } from "./listener.ts";
import { differingHosts, routeChanges } from "./route.ts";

/** A difference of one resource. */
export interface Difference extends Pair {
  readonly type: ResourceType;
  readonly name: string;
}

export interface Sent {
  set(type: ResourceType): ResourceSet;
}

export interface Comparison {
  /** The differences of one proxy. What many proxies share is put into words once. */
  changes(differences: readonly Difference[], after: Sent): readonly Change[];
  /** The virtual hosts of a route configuration that differ, as `route/host`. */
  hosts(difference: Difference): readonly string[];
}

export function createComparison(): Comparison {
  const known = new Map<string, readonly Change[]>();
  const wordsOf = ({ type, name, before, after }: Difference): readonly Change[] => {
    const key = `${type} ${name} ${before?.hash} ${after?.hash}`;
    const found = known.get(key) ?? words[type]?.({ before, after }) ?? other(type, name, { before, after });
    known.set(key, found);
    return found;
  };
  const hosts = new Map<string, readonly string[]>();
  const hostsOf = ({ name, before, after }: Difference): readonly string[] => {
    const key = `${name} ${before?.hash} ${after?.hash}`;
    const found = hosts.get(key) ?? differingHosts({ before, after }).map((host) => routeHostName(name, host));
    hosts.set(key, found);
    return found;
  };
  const fresh = new Map<string, readonly string[]>();
  const newNeeds: NewNeeds = ({ before, after }) => {
    const key = `${before?.hash} ${after?.hash}`;
    const found = fresh.get(key) ?? [...new Set(after?.needs).difference(new Set(before?.needs))];
    fresh.set(key, found);
    return found;
  };
  return {
    changes: (differences, after) => [...differences.flatMap(wordsOf), ...deadEnds(differences, after, newNeeds)],
    hosts: (difference) => (difference.type === types.route ? hostsOf(difference) : []),
  };
}

const words: Readonly<Partial<Record<ResourceType, (pair: Pair) => readonly Change[]>>> = {
  [types.cluster]: clusterChanges,
  [types.endpoint]: endpointChanges,
  [types.listener]: listenerChanges,
  [types.route]: routeChanges,
};

const nouns: Readonly<Partial<Record<ResourceType, string>>> = {
  [types.secret]: "secret",
  [types.extension]: "extension",
};

function other(type: ResourceType, name: string, { before, after }: Pair): readonly Change[] {
  const noun = nouns[type] ?? type.slice(type.lastIndexOf(".") + 1);
  return [{ subject: "", text: `${noun} ${name} ${before ? (after ? "changes" : "is gone") : "is new"}` }];
}

/** Clusters that a resource did not name before. */
type NewNeeds = (difference: Difference) => readonly string[];

/** Clusters that requests are sent to and that have gone, or that have nobody in them and are newly used. */
function deadEnds(differences: readonly Difference[], after: Sent, newNeeds: NewNeeds): readonly Change[] {
  const gone = differences.filter((one) => one.type === types.cluster && !one.after).map(({ name }) => name);
  const routed = differences.filter((one) => one.type === types.route || one.type === types.listener);
  const fresh = new Set(routed.flatMap((one) => newNeeds(one)));
  const stillUsed = gone.length === 0 ? new Set<string>() : usedClusters(after);
  const empty = [...fresh].filter((name) => !gone.includes(name) && isEmpty(name, after));
  return [
    ...gone
      .filter((name) => stillUsed.has(name))
      .map((name) => deadEnd(name, "does not exist any more, and routes lead to it")),
    ...gone
      .filter((name) => !stillUsed.has(name) && parseClusterName(name)?.subset === "" && name.startsWith("outbound"))
      .map((name) => deadEnd(name, "cannot be reached any more")),
    ...empty.map((name) =>
      deadEnd(
        name,
        after.set(types.cluster).get(name)
          ? "has no endpoint, and routes lead to it"
          : "does not exist, and routes lead to it",
      ),
    ),
  ];
}

function usedClusters(after: Sent): ReadonlySet<string> {
  const all: Resource[] = [...after.set(types.route).list(), ...after.set(types.listener).list()];
  return new Set(all.flatMap(({ needs }) => needs));
}

/** One that finds its endpoints by itself is never empty. */
function isEmpty(name: string, after: Sent): boolean {
  const cluster = after.set(types.cluster).get(name);
  if (!cluster) return name.startsWith("outbound|");
  if (!cluster.needs.includes(name)) return false;
  const assignment = decoded(ClusterLoadAssignmentSchema, after.set(types.endpoint).get(name));
  return assignment !== undefined && endpointCount(assignment) === 0;
}

function deadEnd(name: string, text: string): Change {
  const host = parseClusterName(name)?.host ?? "";
  return { subject: host, text: `${clusterWord(name, host)} ${text}`, risk: "lost-endpoint" };
}
