/** The kinds that are served in, the documents by which clients find them out. */
import { compareText } from "../lib/index.ts";
import { type ApiKind, subresourceVerbs } from "./kind.ts";
import { scaleKind } from "./scale.ts";

interface Versioned {
  readonly group: string;
  readonly versions: ReadonlyMap<string, readonly ApiKind[]>;
}

/** Groups with their versions, the preferred (most stable, newest) first. */
function groupKinds(kinds: readonly ApiKind[]): readonly Versioned[] {
  const groups = new Map<string, Map<string, ApiKind[]>>();
  for (const kind of kinds) {
    const versions = groups.get(kind.group) ?? new Map<string, ApiKind[]>();
    groups.set(kind.group, versions.set(kind.version, [...(versions.get(kind.version) ?? []), kind]));
  }
  return [...groups].map(([group, versions]) => ({
    group,
    versions: new Map([...versions].sort(([a], [b]) => compareVersions(a, b))),
  }));
}

/** v2 before v1 before v1beta1 before v1alpha3, as Kubernetes ranks them. */
export function compareVersions(a: string, b: string): number {
  const rank = (version: string): readonly number[] => {
    const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version);
    if (!match) return [0, 0, 0];
    return [match[2] === undefined ? 3 : match[2] === "beta" ? 2 : 1, Number(match[1]), Number(match[3] ?? 0)];
  };
  const [x, y] = [rank(a), rank(b)];
  for (let i = 0; i < x.length; i++) if (x[i] !== y[i]) return (y[i] ?? 0) - (x[i] ?? 0);
  return a < b ? -1 : 1;
}

export function apiVersions(address: string): unknown {
  return {
    kind: "APIVersions",
    versions: ["v1"],
    serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: address }],
  };
}

export function apiGroupList(kinds: readonly ApiKind[]): unknown {
  const groups = groupKinds(kinds)
    .filter(({ group }) => group !== "")
    .map(groupOf);
  return { kind: "APIGroupList", apiVersion: "v1", groups };
}

export function apiGroup(kinds: readonly ApiKind[], name: string): unknown {
  const found = groupKinds(kinds).find(({ group }) => group === name && group !== "");
  return found ? { kind: "APIGroup", apiVersion: "v1", ...groupOf(found) } : undefined;
}

function groupOf({ group, versions }: Versioned): Readonly<Record<string, unknown>> {
  const list = [...versions.keys()].map((version) => ({ groupVersion: `${group}/${version}`, version }));
  return { name: group, versions: list, preferredVersion: list[0] };
}

export function apiResourceList(kinds: readonly ApiKind[], group: string, version: string): unknown {
  const chosen = kinds.filter((kind) => kind.group === group && kind.version === version);
  if (chosen.length === 0) return undefined;
  return {
    kind: "APIResourceList",
    apiVersion: "v1",
    groupVersion: group === "" ? version : `${group}/${version}`,
    resources: byName(chosen).flatMap(resources),
  };
}

/** As Kubernetes lists them; `kubectl get all` prints in this order. */
const byName = (kinds: readonly ApiKind[]): readonly ApiKind[] =>
  kinds.toSorted((a, b) => compareText(a.plural, b.plural));

function resources(kind: ApiKind): readonly unknown[] {
  const main = {
    name: kind.plural,
    singularName: kind.singular,
    namespaced: kind.namespaced,
    kind: kind.kind,
    verbs: kind.verbs,
    ...(kind.shortNames.length === 0 ? {} : { shortNames: kind.shortNames }),
    ...(kind.categories.length === 0 ? {} : { categories: kind.categories }),
  };
  return [
    main,
    ...kind.subresources.map((name) => ({
      name: `${kind.plural}/${name}`,
      singularName: "",
      namespaced: kind.namespaced,
      ...subresourceKind(kind, name),
    })),
  ];
}

/** What Kubernetes calls the questions of its streams. */
const podOptions: ReadonlyMap<string, string> = new Map([
  ["attach", "PodAttachOptions"],
  ["exec", "PodExecOptions"],
  ["log", "Pod"],
  ["portforward", "PodPortForwardOptions"],
]);

function subresourceKind(kind: ApiKind, name: string): Readonly<Record<string, unknown>> {
  const verbs = subresourceVerbs(name);
  if (name === "token") return { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest", verbs };
  if (name === "eviction") return { group: "policy", version: "v1", kind: "Eviction", verbs };
  const options = podOptions.get(name);
  if (options) return { kind: options, verbs };
  if (name === "scale") return { ...scaleKind, verbs };
  return { kind: kind.kind, verbs };
}

/** The aggregated form: one document instead of one per group and version. */
export function aggregatedDiscovery(kinds: readonly ApiKind[], core: boolean, apiVersion: string): unknown {
  const items = groupKinds(kinds.filter((kind) => (kind.group === "") === core)).map(({ group, versions }) => ({
    metadata: group === "" ? { creationTimestamp: null } : { name: group, creationTimestamp: null },
    versions: [...versions].map(([version, list]) => ({
      version,
      resources: byName(list).map(aggregatedResource),
      freshness: "Current",
    })),
  }));
  return { kind: "APIGroupDiscoveryList", apiVersion, metadata: {}, items };
}

function aggregatedResource(kind: ApiKind): unknown {
  const scope = kind.namespaced ? "Namespaced" : "Cluster";
  const responseKind = { group: kind.group, version: kind.version, kind: kind.kind };
  const subresources = kind.subresources.map((name) => {
    const { verbs, group, version, kind: own } = subresourceKind(kind, name);
    return {
      subresource: name,
      responseKind: { group: group ?? kind.group, version: version ?? kind.version, kind: own },
      verbs,
    };
  });
  return {
    resource: kind.plural,
    responseKind,
    scope,
    singularResource: kind.singular,
    verbs: kind.verbs,
    ...(kind.shortNames.length === 0 ? {} : { shortNames: kind.shortNames }),
    ...(kind.categories.length === 0 ? {} : { categories: kind.categories }),
    ...(subresources.length === 0 ? {} : { subresources }),
  };
}

/** Which aggregated form the client asked for, if it did. */
export function aggregatedVersion(accept: string | undefined): string | undefined {
  const match = /application\/json;g=apidiscovery\.k8s\.io;v=(v2|v2beta1);as=APIGroupDiscoveryList/.exec(accept ?? "");
  return match?.[1];
}
