/** The few words that random meshes are made of: few, so that objects meet each other often. */
import type { KubeObject } from "../../src/model/index.ts";
import type { Random } from "../random.ts";

export type Spec = Readonly<Record<string, unknown>>;

export const rootNamespace = "istio-system";
/** Namespaces of users; the last is rarely labelled, so that selectors of namespaces tell it apart. */
export const userNamespaces = ["red", "green", "blue"] as const;
export const namespaces = [rootNamespace, ...userNamespaces] as const;
export const apps = ["a", "b", "c", "d"] as const;
export const versions = ["v1", "v2"] as const;
export const zones = [
  ["r1", "z1"],
  ["r1", "z2"],
  ["r2", "z3"],
] as const;

export interface PortWord {
  readonly name: string;
  readonly port: number;
  /** As ServiceEntries and Gateways spell it. */
  readonly protocol: string;
}

export const ports: readonly PortWord[] = [
  { name: "http", port: 80, protocol: "HTTP" },
  { name: "http-alt", port: 8080, protocol: "HTTP" },
  { name: "grpc", port: 7070, protocol: "GRPC" },
  { name: "tcp", port: 9000, protocol: "TCP" },
  { name: "tcp-alt", port: 80, protocol: "TCP" },
  { name: "https", port: 443, protocol: "HTTPS" },
  { name: "tls", port: 8443, protocol: "TLS" },
  { name: "mysql", port: 3306, protocol: "MySQL" },
  { name: "mongo", port: 27017, protocol: "MONGO" },
  { name: "any", port: 9000, protocol: "" },
];

export const externalHosts = [
  "api.example.com",
  "db.example.com",
  "*.example.com",
  "www.other.org",
  "vm.internal",
] as const;

export const gatewayHosts = ["shop.example.com", "*.shop.example.com", "*", "api.example.com"] as const;

export function yes(random: Random, probability: number, make: () => Spec): Spec {
  return random.chance(probability) ? make() : {};
}

/** From `least` to `most` different items. */
export function some<T>(random: Random, items: readonly T[], least: number, most: number): readonly T[] {
  const rest = [...items];
  const wanted = Math.min(rest.length, least + random.whole(most - least + 1));
  return Array.from({ length: wanted }, () => rest.splice(random.whole(rest.length), 1)).flat();
}

export function times<T>(random: Random, least: number, most: number, make: (index: number) => T): readonly T[] {
  return Array.from({ length: least + random.whole(most - least + 1) }, (_, index) => make(index));
}

export const serviceHost = (name: string, namespace: string): string => `${name}.${namespace}.svc.cluster.local`;

/** A host as a rule or a route may name it: in full, in short, outside, or of nothing at all. */
export function host(random: Random): string {
  const full = (): string => serviceHost(random.pick(apps), random.pick(userNamespaces));
  return random.pick([
    full,
    full,
    full,
    () => random.pick(apps),
    () => `${random.pick(apps)}.${random.pick(userNamespaces)}`,
    () => random.pick(externalHosts),
    () => random.pick(["*.red.svc.cluster.local", "*.local", serviceHost("nowhere", "red")]),
  ])();
}

export function exportTo(random: Random): Spec {
  return yes(random, 0.3, () => ({
    exportTo: random.pick([["."], ["*"], ["red"], ["green", "blue"], [".", "red"]]),
  }));
}

/** What selects workloads: nothing, an app, or an app in one version. */
export function labels(random: Random): Readonly<Record<string, string>> {
  return {
    ...(random.chance(0.8) ? { app: random.pick(apps) } : {}),
    ...(random.chance(0.3) ? { version: random.pick(versions) } : {}),
  };
}

export const seconds = (random: Random): string => `${1 + random.whole(20)}s`;

export const address = (random: Random): string => `10.0.${random.whole(3)}.${1 + random.whole(12)}`;

export function object(
  apiVersion: string,
  kind: string,
  name: string,
  namespace: string | undefined,
  rest: Readonly<Record<string, unknown>>,
): KubeObject {
  const { metadata, ...body } = rest;
  return {
    apiVersion,
    kind,
    metadata: { name, ...(namespace === undefined ? {} : { namespace }), ...(metadata as Spec | undefined) },
    ...body,
  };
}
