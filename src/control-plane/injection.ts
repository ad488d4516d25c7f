/**
 * ConfigMap `istio-sidecar-injector`, the mesh's settings, nodes and namespaces in; what the injection webhook works with
 * out. Without the ConfigMap the defaults of a fresh installation hold.
 */
import type { Collection, Graph } from "../collections/index.ts";
import { podAnnotationError, unknownPodAnnotation } from "../config/index.ts";
import {
  createInjectSettings,
  type InjectionSources,
  type InjectSettings,
  openShiftIds,
  runsNativeSidecars,
} from "../inject/index.ts";
import {
  FairleadError,
  type Logger,
  objectLimits,
  parseYaml,
  readRecord,
  readText,
  readTextMap,
} from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import type { Stages } from "./stages.ts";

export interface InjectionOptions {
  readonly graph: Graph;
  readonly stages: Stages;
  readonly objects: (group: string, kind: string) => Collection<KubeObject>;
  readonly namespace: string;
  readonly revision: string;
  readonly cluster: string;
  /** `true`, `false`, or `auto`: where all nodes can. */
  readonly nativeSidecars: string;
  readonly compliancePolicy: string;
  readonly platform: string;
  readonly log: Logger;
}

export function createInjection(options: InjectionOptions): InjectionSources {
  const { stages, objects } = options;
  const revision = options.revision === "default" ? "" : options.revision;
  const configMap = revision === "" ? "istio-sidecar-injector" : `istio-sidecar-injector-${revision}`;
  const configMaps = objects("", "ConfigMap");
  const nodes = objects("", "Node");
  const namespaces = objects("", "Namespace");
  let lastGood: Parts | undefined;
  const settings = options.graph.memo<InjectSettings>("injection", () => {
    const found = configMaps.get(`${options.namespace}/${configMap}`);
    if (found) {
      try {
        lastGood = readParts(found);
      } catch (error) {
        // One bad edit must not stop every Pod of the mesh from starting.
        options.log.error(
          `ConfigMap ${configMap}: ${FairleadError.from(error).message}; the last good one stays in force`,
        );
      }
    } else lastGood = undefined;
    return createInjectSettings({
      values: lastGood?.values ?? freshValues(options, revision),
      config: lastGood?.config,
      meshConfig: stages.settings.current(),
      revision,
      compliancePolicy: options.compliancePolicy,
      annotationError: podAnnotationError,
    });
  });
  const isNative = (key: string): boolean => runsNativeSidecars(kubeletVersion(nodes.get(key)));
  return {
    settings: () => settings.get(""),
    proxyConfig: stages.mesh.proxyConfig,
    nativeSidecars(node) {
      if (options.nativeSidecars !== "auto") return options.nativeSidecars === "true";
      return node !== "" && nodes.get(node) ? isNative(node) : [...nodes.keys()].every(isNative);
    },
    proxyIds: (namespace) =>
      options.platform === "openshift"
        ? openShiftIds(readTextMap(namespaces.get(namespace)?.metadata.annotations))
        : {},
    annotationWarning: unknownPodAnnotation,
  };
}

interface Parts {
  readonly config: unknown;
  readonly values: unknown;
}

function readParts(configMap: KubeObject): Parts {
  const { config, values } = readRecord(configMap.data);
  return {
    config: parseYaml(readText(config), objectLimits)[0],
    values: parseYaml(readText(values), objectLimits)[0] ?? {},
  };
}

const freshValues = ({ namespace, cluster }: InjectionOptions, revision: string): object => ({
  revision,
  global: { istioNamespace: namespace, multiCluster: { clusterName: cluster } },
});

const kubeletVersion = (node: KubeObject | undefined): string =>
  readText(readRecord(readRecord(node?.status).nodeInfo).kubeletVersion);
