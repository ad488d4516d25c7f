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

export function knownHosts(objects: AnalysedObjects): KnownHosts {
  const hosts = new Map<string, KnownHost>();
  for (const { meta, spec } of objects.of(serviceEntry)) {
    const known = {
      ports: (spec.ports ?? []).map(({ number = 0 }) => number),
      selector: spec.workloadSelector?.labels ?? {},
    };
    for (const scope of scopesOf(spec.exportTo ?? [], meta.namespace))
      for (const host of spec.hosts ?? []) hosts.set(`${scope}/${fullHost(meta.namespace, host)}`, known);
  }
  for (const { meta, spec } of objects.kube("Service")) {
    const ports = readList(readRecord(spec).ports).map((port) => readNumber(readRecord(port).port) ?? 0);
    const annotation = readText(meta.annotations["networking.istio.io/exportTo"]);
    const exportTo = annotation === "" ? [] : annotation.split(",").map((entry) => entry.trim());
    for (const scope of scopesOf(exportTo, meta.namespace))
      hosts.set(`${scope}/${fullHost(meta.namespace, meta.name)}`, { ports, selector: {} });
  }
  return { find: (namespace, exportTo, host) => findHost(hosts, namespace, exportTo, host) };
}

function findHost(
  hosts: ReadonlyMap<string, KnownHost>,
  namespace: string,
  exportTo: readonly string[],
  host: string,
): KnownHost | undefined {
  const name = fullHost(namespace, host);
  const scopes = exportTo.length === 0 ? [namespace] : exportTo.map((entry) => (entry === "." ? namespace : entry));
  for (const scope of ["*", ...scopes]) {
    const known = hosts.get(`${scope}/${name}`);
    if (known) return known;
  }
  const tail = host.replace(/^\*/, "");
  for (const [key, known] of hosts) {
    const slash = key.indexOf("/");
    const [scope, outer] = [key.slice(0, slash), key.slice(slash + 1)];
    if (outer.startsWith("*") && (scope === "*" || scope === namespace) && tail.endsWith(outer.slice(1))) return known;
  }
  return undefined;
}
