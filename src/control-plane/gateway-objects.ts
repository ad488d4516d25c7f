/** What has to run for Gateways, the injector's settings and ConfigMaps with parameters in; the objects to apply out. */
import type { Collection, Graph } from "../collections/index.ts";
import { gatewayNameLabel, gatewayObjects, type InjectionSources } from "../inject/index.ts";
import { FairleadError, type Logger, readRecord, readText } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import type { GatewayWorkload } from "../translate/index.ts";
import type { OwnRevision } from "./own-revision.ts";

export interface GatewayObjectsOptions {
  readonly graph: Graph;
  readonly workloads: Collection<GatewayWorkload>;
  readonly injection: InjectionSources;
  readonly gateways: Collection<KubeObject>;
  readonly configMaps: Collection<KubeObject>;
  readonly isOwn: OwnRevision;
  /** Where ConfigMaps for whole classes are. */
  readonly namespace: string;
  readonly log: Logger;
}

const classLabel = "gateway.istio.io/defaults-for-class";

/** By `Kind/namespace/name`. A Gateway whose parameters cannot be used has none: what runs for it stays as it is. */
export function createGatewayObjects(options: GatewayObjectsOptions): Collection<KubeObject> {
  const { graph, injection, configMaps } = options;
  const byClass = graph.index(configMaps, "gateway class", ({ metadata: { namespace, labels } }) => {
    const name = labels?.[classLabel];
    return name !== undefined && namespace === options.namespace ? [name] : [];
  });
  const parametersOf = (gateway: KubeObject, className: string): readonly Readonly<Record<string, unknown>>[] => {
    const [forClass] = byClass.get(className).toSorted((a, b) => ageOf(configMaps, a) - ageOf(configMaps, b));
    const ref = readRecord(readRecord(readRecord(gateway.spec).infrastructure).parametersRef);
    const keys = [...(forClass === undefined ? [] : [forClass]), ...parametersKey(gateway, ref)];
    return keys.map((key) => {
      const found = configMaps.get(key);
      if (!found) throw new FairleadError("not-found", `its parameters, ConfigMap ${key}, are not there`);
      return readRecord(found.data);
    });
  };
  return graph.derive<GatewayWorkload, KubeObject>("gateway objects", options.workloads, (workload, key) => {
    const gateway = options.gateways.get(key);
    if (!gateway || gateway.metadata.deletionTimestamp !== undefined) return [];
    if (!options.isOwn(gateway) || !isKnownVersion(gateway)) return [];
    const { namespace = "" } = gateway.metadata;
    const className = workload.gateway.spec.gatewayClassName ?? "";
    const labels = { [gatewayNameLabel]: gateway.metadata.name };
    try {
      const parameters = parametersOf(gateway, className);
      const proxyConfig = injection.proxyConfig(namespace, labels, {});
      const sources = { ...workload, gateway, className, parameters, proxyConfig, ...injection.proxyIds?.(namespace) };
      return gatewayObjects(sources, injection.settings()).map((object) => [idOf(object), object] as const);
    } catch (error) {
      options.log.warn(`Gateway ${key}: ${FairleadError.from(error).message}`);
      return [];
    }
  });
}

const idOf = ({ kind, metadata: { namespace, name } }: KubeObject): string => `${kind}/${namespace}/${name}`;

const ageOf = (configMaps: Collection<KubeObject>, key: string): number =>
  Date.parse(configMaps.get(key)?.metadata.creationTimestamp ?? "") || 0;

function parametersKey(gateway: KubeObject, ref: Readonly<Record<string, unknown>>): readonly string[] {
  if (Object.keys(ref).length === 0) return [];
  const [group, kind] = [readText(ref.group), readText(ref.kind)];
  if (group !== "" || kind !== "ConfigMap")
    throw new FairleadError("invalid", `parameters of kind ${group}/${kind} are not known`, {
      hint: "use a ConfigMap",
    });
  return [`${gateway.metadata.namespace}/${readText(ref.name)}`];
}

/** The version of istiod's own controller that this one does the same as; a later one is left alone. */
const controllerVersion = 5;

function isKnownVersion({ metadata: { annotations } }: KubeObject): boolean {
  const version = annotations?.["gateway.istio.io/controller-version"];
  return version === undefined || (/^\d+$/.test(version) && Number(version) <= controllerVersion);
}
