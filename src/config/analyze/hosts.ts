/** Hosts that exist, and from where they can be seen: Services and ServiceEntries in, look-ups by host out. */
import { readList, readNumber, readRecord, readText } from "../../lib/index.ts";
import { serviceEntry } from "../../model/index.ts";
import type { AnalysedObjects } from "./objects.ts";

export interface KnownHost {
  readonly ports: readonly number[];
  readonly selector: Readonly<Record<string, string>>;
}

export interface KnownHosts {
  /** As seen from a namespace by an object that is exported so. */
  find(namespace: string, exportTo: readonly string[], host: string): KnownHost | undefined;
}

const domain = "svc.cluster.local";

/** A short name is one of the object's own namespace. */
export const fullHost = (namespace: string, host: string): string =>
  host.startsWith("*") || host.includes(".") ? host : `${host}.${namespace}.${domain}`;

/** To whom something is visible: everybody (`*`), or namespaces by name. */
export function scopesOf(exportTo: readonly string[], namespace: string): readonly string[] {
  if (exportTo.length === 0 || exportTo.includes("*")) return ["*"];
  return [...new Set(exportTo.map((entry) => (entry === "." ? namespace : entry)))];
}

/** One who has a host, and to whom it is visible. */
interface Holder {
  readonly scopes: ReadonlySet<string>;
  readonly known: KnownHost;
}

/** By host, and those with `*` once more apart: they are compared with what has no host of its own. */
interface Holders {
  readonly byHost: Map<string, Holder[]>;
  readonly wildcards: { readonly host: string; readonly holder: Holder }[];
}

export function knownHosts(objects: AnalysedObjects): KnownHosts {
  const holders: Holders = { byHost: new Map(), wildcards: [] };
  for (const { meta, spec } of objects.of(serviceEntry)) {
    const known = {
      ports: (spec.ports ?? []).map(({ number = 0 }) => number),
      selector: spec.workloadSelector?.labels ?? {},
    };
    const holder = { scopes: new Set(scopesOf(spec.exportTo ?? [], meta.namespace)), known };
    for (const host of spec.hosts ?? []) add(holders, fullHost(meta.namespace, host), holder);
  }
  for (const { meta, spec } of objects.kube("Service")) {
    const ports = readList(readRecord(spec).ports).map((port) => readNumber(readRecord(port).port) ?? 0);
    const annotation = readText(meta.annotations["networking.istio.io/exportTo"]);
    const exportTo = annotation === "" ? [] : annotation.split(",").map((entry) => entry.trim());
    const scopes = new Set(scopesOf(exportTo, meta.namespace));
    add(holders, fullHost(meta.namespace, meta.name), { scopes, known: { ports, selector: {} } });
  }
  return { find: (namespace, exportTo, host) => findHost(holders, namespace, exportTo, host) };
}

function add({ byHost, wildcards }: Holders, host: string, holder: Holder): void {
  const others = byHost.get(host);
  if (others) others.push(holder);
  else byHost.set(host, [holder]);
  if (host.startsWith("*")) wildcards.push({ host, holder });
}

function findHost(
  { byHost, wildcards }: Holders,
  namespace: string,
  exportTo: readonly string[],
  host: string,
): KnownHost | undefined {
  const holders = byHost.get(fullHost(namespace, host)) ?? [];
  const scopes = exportTo.length === 0 ? [namespace] : exportTo.map((entry) => (entry === "." ? namespace : entry));
  for (const scope of holders.length === 0 ? [] : ["*", ...scopes]) {
    const holder = holders.findLast((one) => one.scopes.has(scope));
    if (holder) return holder.known;
  }
  const tail = host.replace(/^\*/, "");
  return wildcards.find(
    ({ host: outer, holder: { scopes: seenBy } }) =>
      (seenBy.has("*") || seenBy.has(namespace)) && tail.endsWith(outer.slice(1)),
  )?.holder.known;
}
