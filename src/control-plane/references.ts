/**
 * A VirtualService or DestinationRule about to be written in; what it refers to and is not there, as warnings for the
 * one who writes it, out. Never a refusal: what belongs together may come in any order.
 */
import type { Collection, Graph } from "../collections/index.ts";
import { isRecord, readList, readRecord, readText, readTexts } from "../lib/index.ts";
import { type Config, type DestinationRuleSpec, isWildcard, type KubeObject, resolveHost } from "../model/index.ts";

export interface ReferenceInputs {
  readonly domain: string;
  /** Whether any registry has a service of that host. */
  knowsHost(host: string): boolean;
  readonly gateways: Collection<unknown>;
  readonly destinationRules: Collection<Config<DestinationRuleSpec>>;
}

/** What an object names: found without looking whether it is there. */
export interface Referenced {
  readonly kind: string;
  readonly namespace: string;
  readonly gateways: readonly string[];
  readonly destinations: readonly Destination[];
}

interface Destination {
  readonly host: string;
  readonly subset: string;
}

export type References = (referenced: Referenced) => readonly string[];

/** One look-up for each reference, so that a webhook call costs the size of its object. */
export function createReferences(graph: Graph, inputs: ReferenceInputs): References {
  const rulesOfHost = graph.index(inputs.destinationRules, "rules by host", ({ spec, meta }) => [
    resolveHost(spec.host ?? "", meta.namespace, inputs.domain),
  ]);
  const hasSubset = (host: string, subset: string): boolean =>
    rulesOfHost
      .get(host)
      .some((key) => inputs.destinationRules.get(key)?.spec.subsets?.some(({ name }) => name === subset));

  const destination = ({ host: name, subset }: Destination, namespace: string): readonly string[] => {
    const host = resolveHost(name, namespace, inputs.domain);
    if (!inputs.knowsHost(host)) return [`no service has the host ${JSON.stringify(host)}`];
    if (subset === "" || hasSubset(host, subset)) return [];
    return [`no DestinationRule for ${JSON.stringify(host)} has the subset ${JSON.stringify(subset)}`];
  };

  return ({ kind, namespace, gateways, destinations }) => {
    const missing = gateways
      .filter((key) => inputs.gateways.get(key) === undefined)
      .map((key) => `Gateway ${JSON.stringify(key)} does not exist`);
    const found = [...missing, ...destinations.flatMap((one) => destination(one, namespace))];
    return [...new Set(found)].slice(0, 20).map((text) => `${kind}: ${text} (it may still come)`);
  };
}

/** Undefined for kinds that refer to nothing. Each name once. */
export function referencedBy(object: unknown): Referenced | undefined {
  if (!isObject(object)) return undefined;
  const { kind, metadata } = object;
  const namespace = metadata.namespace ?? "default";
  const spec = readRecord(object.spec);
  if (kind === "DestinationRule")
    return { kind, namespace, gateways: [], destinations: readDestinations([{ host: spec.host }]) };
  if (kind !== "VirtualService") return undefined;
  const gateways = readTexts(spec.gateways)
    .filter((name) => name !== "mesh")
    .map((name) => (name.includes("/") ? name : `${namespace}/${name}`));
  return { kind, namespace, gateways: [...new Set(gateways)], destinations: readDestinations(destinationsOf(spec)) };
}

function readDestinations(values: readonly unknown[]): readonly Destination[] {
  const byName = new Map<string, Destination>();
  for (const value of values) {
    const { host: written, subset: chosen } = readRecord(value);
    const [host, subset] = [readText(written), readText(chosen)];
    if (host !== "" && !isWildcard(host)) byName.set(`${host} ${subset}`, { host, subset });
  }
  return [...byName.values()];
}

/** Destinations and mirrors of all routes of every protocol. */
function destinationsOf({ http, tls, tcp }: Readonly<Record<string, unknown>>): readonly unknown[] {
  return [http, tls, tcp]
    .flatMap(readList)
    .map(readRecord)
    .flatMap(({ route, mirror, mirrors }) => [
      ...readList(route).map((one) => readRecord(one).destination),
      ...readList(mirrors).map((one) => readRecord(one).destination),
      ...(mirror === undefined ? [] : [mirror]),
    ]);
}

function isObject(value: unknown): value is KubeObject {
  return isRecord(value) && typeof value.kind === "string" && isRecord(value.metadata);
}
