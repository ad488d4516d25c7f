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

export type References = (object: unknown) => readonly string[];

/** One look-up for each reference, so that a webhook call costs the size of its object. */
export function createReferences(graph: Graph, inputs: ReferenceInputs): References {
  const rulesOfHost = graph.index(inputs.destinationRules, "rules by host", ({ spec, meta }) => [
    resolveHost(spec.host ?? "", meta.namespace, inputs.domain),
  ]);
  const hasSubset = (host: string, subset: string): boolean =>
    rulesOfHost
      .get(host)
      .some((key) => inputs.destinationRules.get(key)?.spec.subsets?.some(({ name }) => name === subset));

  const destination = (value: unknown, namespace: string): readonly string[] => {
    const { host: written, subset } = readRecord(value);
    const name = readText(written);
    if (name === "" || isWildcard(name)) return [];
    const host = resolveHost(name, namespace, inputs.domain);
    if (!inputs.knowsHost(host)) return [`no service has the host ${JSON.stringify(host)}`];
    const wanted = readText(subset);
    if (wanted === "" || hasSubset(host, wanted)) return [];
    return [`no DestinationRule for ${JSON.stringify(host)} has the subset ${JSON.stringify(wanted)}`];
  };
  const virtualService = ({ metadata, spec }: KubeObject): readonly string[] => {
    const namespace = metadata.namespace ?? "default";
    const { gateways } = readRecord(spec);
    const missing = readTexts(gateways)
      .filter((name) => name !== "mesh")
      .map((name) => (name.includes("/") ? name : `${namespace}/${name}`))
      .filter((key) => inputs.gateways.get(key) === undefined)
      .map((key) => `Gateway ${JSON.stringify(key)} does not exist`);
    return [...missing, ...destinationsOf(spec).flatMap((one) => destination(one, namespace))];
  };

  return (object) => {
    if (!isObject(object)) return [];
    const found =
      object.kind === "VirtualService"
        ? virtualService(object)
        : object.kind === "DestinationRule"
          ? destination({ host: readRecord(object.spec).host }, object.metadata.namespace ?? "default")
          : [];
    return [...new Set(found)].slice(0, 20).map((text) => `${object.kind}: ${text} (it may still come)`);
  };
}

/** Destinations and mirrors of all routes of every protocol. */
function destinationsOf(spec: unknown): readonly unknown[] {
  const { http, tls, tcp } = readRecord(spec);
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
