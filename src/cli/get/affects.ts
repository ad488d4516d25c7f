/** Objects of an API and some of them in; the proxies and parts that each of these reaches out: what would differ without it. */
import {
  compareStates,
  completed,
  createStates,
  nameOf,
  numbersOf,
  type StateChange,
} from "../../control-plane/index.ts";
import { printable } from "../../lib/index.ts";
import { type KubeObject, type Resource, routeHosts } from "../../model/index.ts";
import { printTabs } from "../table.ts";

export interface Affected {
  readonly object: string;
  readonly kind: string;
  /** Name of the resource; of a route configuration each virtual host by itself. */
  readonly name: string;
  readonly proxies: readonly string[];
}

export async function affectedBy(
  objects: readonly KubeObject[],
  asked: readonly KubeObject[],
): Promise<readonly Affected[]> {
  const numbers = numbersOf(objects);
  const states = createStates({ objects: completed(objects, numbers).objects, meshConfig: undefined });
  if (objects.some(({ kind }) => kind === "EnvoyFilter")) await states.loadPatches();
  const choice = { profile: "istio-proxy" } as const;
  const whole = states.take(choice, states.pods());
  return asked.flatMap((object) => {
    const name = nameOf(object);
    states.moveTo(
      completed(
        objects.filter((one) => nameOf(one) !== name),
        numbers,
      ).objects,
    );
    return partsOf(name, compareStates(whole, states.take(choice, states.pods())));
  });
}

function partsOf(object: string, { groups }: StateChange): readonly Affected[] {
  const found = new Map<string, { readonly kind: string; readonly name: string; readonly proxies: string[] }>();
  for (const { differences, proxies } of groups)
    for (const { type, name, before, after } of differences)
      for (const part of hostNames(name, before, after)) {
        const kind = kindWords[type.slice(type.lastIndexOf(".") + 1)] ?? "extension";
        const known = found.get(`${kind} ${part}`) ?? { kind, name: part, proxies: [] };
        found.set(`${kind} ${part}`, known);
        known.proxies.push(...proxies);
      }
  return [...found.values()].map((part) => ({ object, ...part, proxies: part.proxies.sort() }));
}

const kindWords: Readonly<Record<string, string>> = {
  Cluster: "cluster",
  ClusterLoadAssignment: "endpoint",
  Listener: "listener",
  RouteConfiguration: "route",
};

/** A route configuration in its parts. */
function hostNames(name: string, before: Resource | undefined, after: Resource | undefined): readonly string[] {
  const [old, now] = [hashesOf(before), hashesOf(after)];
  const names = [...new Set([...old.keys(), ...now.keys()])].filter((host) => old.get(host) !== now.get(host));
  return names.length > 0 ? names : [name];
}

function hashesOf(resource: Resource | undefined): ReadonlyMap<string, string> {
  const parts = resource?.hosts?.();
  return new Map((parts ? routeHosts(parts) : []).map((host) => [host.name, host.hash]));
}

export function affectedTable(parts: readonly Affected[], isSeveral: boolean): string {
  const rows = parts.map(({ object, kind, name, proxies }) => [
    ...(isSeveral ? [object] : []),
    kind,
    name,
    String(proxies.length),
    `${proxies.slice(0, 3).join(",")}${proxies.length > 3 ? ",…" : ""}`,
  ]);
  const header = [...(isSeveral ? ["OBJECT"] : []), "PART", "NAME", "PROXIES", "WHICH"];
  return printTabs([header, ...rows.map((cells) => cells.map(printable))], 3, 6);
}
