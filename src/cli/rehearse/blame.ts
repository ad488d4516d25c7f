/** Resources that differ in; for each the objects that made ours, the fields that differ, and how many proxies have it, out. */
import { isDeepStrictEqual } from "node:util";
import type { StateChange } from "../../control-plane/index.ts";
import type { Difference } from "../../explain/index.ts";
import { compareText, fieldLines, isRecord, readList, readRecord, readTexts } from "../../lib/index.ts";
import { type KubeObject, objectName, type ResourceType, types } from "../../model/index.ts";
import type { DiffClass } from "../../read-api/index.ts";
import type { Renderer } from "../../render/index.ts";
import { type Origin, originsOf } from "../why/causes-text.ts";
import type { Canonical } from "./canonical.ts";

export interface Blamed {
  readonly type: ResourceType;
  readonly name: string;
  readonly who: "both" | "istiod alone" | "Fairlead alone";
  /** Of a route: the virtual hosts that differ. */
  readonly hosts: readonly string[];
  readonly proxies: number;
  /** Objects and fields that made it, the nearest first. */
  readonly from: readonly Origin[];
  /** `-` is istiod's, `+` Fairlead's. */
  readonly lines: readonly string[];
}

export interface Blame {
  readonly differences: readonly Blamed[];
  /** Proxies for which the same differs in the same way. */
  readonly classes: readonly DiffClass[];
}

export interface BlameOptions {
  readonly change: StateChange;
  readonly canonical: Canonical;
  readonly objects: readonly KubeObject[];
  rendererFor(proxy: string): Renderer | undefined;
}

/** More virtual hosts of a route than these are not looked into. */
const maxHosts = 5;

export function blame({ change, canonical, objects, rendererFor }: BlameOptions): Blame {
  const known = new Map<string, Blamed>();
  const found = new Map<string, { readonly one: Blamed; readonly proxies: string[] }>();
  const classes = new Map<string, string[]>();
  for (const { proxies, differences } of change.groups) {
    const own = differences.map((difference) => {
      const { type, name, before, after } = difference;
      const pair = `${type} ${name} ${before?.hash} ${after?.hash}`;
      const one = known.get(pair) ?? blamed(difference, proxies[0] ?? "");
      known.set(pair, one);
      // Resources of two classes that differ in the same way are one difference.
      const key = [one.type, one.name, one.who, ...one.lines].join("\n");
      const same = found.get(key) ?? { one, proxies: [] };
      found.set(key, same);
      same.proxies.push(...proxies);
      return key;
    });
    const key = own.join("\n\n");
    classes.set(key, [...(classes.get(key) ?? []), ...proxies]);
  }
  return {
    differences: [...found.values()].map(({ one, proxies }) => ({ ...one, proxies: proxies.length })),
    classes: [...classes.values()].map((proxies) => ({
      count: proxies.length,
      proxies: proxies.toSorted(compareText),
      resources: resourcesOf(change, proxies[0] ?? ""),
    })),
  };

  function blamed(one: Difference, proxy: string): Blamed {
    const { type, name, before, after } = one;
    const hosts = hostsThatDiffer(one, canonical);
    const [theirs, ours] = [before && canonical.json(type, before), after && canonical.json(type, after)];
    return {
      ...{ type, name, hosts, proxies: 0 },
      who: before ? (after ? "both" : "istiod alone") : "Fairlead alone",
      from: originsFor(one, hosts, rendererFor(proxy), objects),
      lines: [...fieldLines(theirs, ours)],
    };
  }
}

function resourcesOf({ groups }: StateChange, proxy: string): DiffClass["resources"] {
  const group = groups.find(({ proxies }) => proxies.includes(proxy));
  return (group?.differences ?? []).map(({ type, name, before, after }) => ({
    type,
    name,
    change: before ? (after ? ("changed" as const) : ("gone" as const)) : ("new" as const),
  }));
}

function hostsThatDiffer({ type, before, after }: Difference, canonical: Canonical): readonly string[] {
  if (type !== types.route || !before || !after) return [];
  const hostsOf = (resource: typeof before): ReadonlyMap<string, unknown> =>
    // Patches may add several of one name.
    Map.groupBy(readList(readRecord(canonical.json(type, resource)).virtualHosts).filter(isRecord), ({ name }) =>
      String(name),
    );
  const [old, now] = [hostsOf(before), hostsOf(after)];
  return [...new Set([...old.keys(), ...now.keys()])].filter(
    (name) => !isDeepStrictEqual(old.get(name), now.get(name)),
  );
}

function originsFor(
  { type, name, after }: Difference,
  hosts: readonly string[],
  renderer: Renderer | undefined,
  objects: readonly KubeObject[],
): readonly Origin[] {
  if (!after || !renderer) return objectsOfHost(hostIn(name), objects);
  const parts = hosts.length > 0 ? hosts.slice(0, maxHosts) : [undefined];
  const origins = new Map<string, Origin>();
  for (const host of parts)
    for (const origin of originsOf(renderer.provenance(type, name, host), type))
      if (!origins.has(origin.object)) origins.set(origin.object, origin);
  const missing = hosts.flatMap((host) =>
    origins.size === 0 ? objectsOfHost(host.replace(/:\d+$/, ""), objects) : [],
  );
  return origins.size > 0 ? [...origins.values()] : missing;
}

/** `outbound|80|v1|HOST`. */
const hostIn = (name: string): string => name.slice(name.lastIndexOf("|") + 1);

/** Nothing of ours was made from it, so whoever declares the host is the nearest. */
function objectsOfHost(host: string, objects: readonly KubeObject[]): readonly Origin[] {
  const declares = ({ kind, metadata, spec }: KubeObject): boolean =>
    kind === "Service"
      ? host.startsWith(`${metadata.name}.${metadata.namespace}.svc.`)
      : (kind === "ServiceEntry" || kind === "VirtualService") && readTexts(readRecord(spec).hosts).includes(host);
  return objects.filter(declares).map(({ kind, metadata }) => ({ object: objectName(kind, metadata), fields: [] }));
}
