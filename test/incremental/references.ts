/** A resource in; the names that an Envoy, or a gRPC client, which holds it asks for out. */
import { digest, isRecord } from "../../src/lib/index.ts";
import { type ResourceType, types } from "../../src/model/index.ts";
import { createJsonPrinter } from "../../src/render/index.ts";

export type References = ReadonlyMap<ResourceType, ReadonlySet<string>>;

/** Types that an Envoy asks for by name. */
export const namedTypes: readonly ResourceType[] = [types.endpoint, types.route, types.secret, types.extension];

/** A gRPC client asks by name for all: listeners of what it dials, and what these lead to. */
export const grpcTypes: readonly ResourceType[] = [types.listener, types.route, types.cluster, types.endpoint];

export interface Referrer {
  /** What the resource of the type asks for. */
  of(type: ResourceType, bytes: Uint8Array): References;
  name(type: ResourceType, bytes: Uint8Array): string;
  /** What was read is read once until then. */
  forget(): void;
}

export async function createReferrer(): Promise<Referrer> {
  const print = createJsonPrinter();
  const known = new Map<string, Read>();
  const look = (type: ResourceType, bytes: Uint8Array): Read => {
    const key = `${type}|${digest(bytes)}`;
    const found = known.get(key) ?? read(type, print(type, bytes));
    known.set(key, found);
    return found;
  };
  return {
    of: (type, bytes) => look(type, bytes).references,
    name: (type, bytes) => look(type, bytes).name,
    forget: () => known.clear(),
  };
}

interface Read {
  readonly name: string;
  readonly references: References;
}

function read(type: ResourceType, resource: Readonly<Record<string, unknown>>): Read {
  const found = new Map([...namedTypes, ...grpcTypes].map((one) => [one, new Set<string>()]));
  const add = (to: ResourceType, name: unknown): void => {
    if (typeof name === "string" && name !== "") found.get(to)?.add(name);
  };
  if (type === types.cluster && resource.type === "EDS") {
    const { serviceName } = record(resource.edsClusterConfig);
    add(types.endpoint, serviceName ?? resource.name);
  }
  walk(resource, (value) => {
    const { rds, configDiscovery, sdsConfig, name, route, weightedClusters } = value;
    if (isRecord(rds)) add(types.route, rds.routeConfigName);
    if (isRecord(configDiscovery) && overAds(configDiscovery.configSource)) add(types.extension, name);
    if (isRecord(sdsConfig) && overAds(sdsConfig)) add(types.secret, name);
    if (isRecord(route)) add(types.cluster, route.cluster);
    for (const weighted of list(record(weightedClusters).clusters)) add(types.cluster, record(weighted).name);
  });
  return { name: String(resource.clusterName ?? resource.name), references: found };
}

const record = (value: unknown): Readonly<Record<string, unknown>> => (isRecord(value) ? value : {});

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const overAds = (source: unknown): boolean => isRecord(record(source).ads);

function walk(value: unknown, visit: (one: Readonly<Record<string, unknown>>) => void): void {
  if (Array.isArray(value)) for (const item of value) walk(item, visit);
  if (!isRecord(value)) return;
  visit(value);
  for (const inner of Object.values(value)) walk(inner, visit);
}
