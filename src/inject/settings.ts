/** Values, the injector's config and the mesh's config in; what holds for every Pod out. */
import { readRecord } from "../lib/index.ts";
import type { MeshConfigSpec } from "../model/index.ts";
import type { InjectSettings } from "./inject-pod.ts";
import { builtInTemplates } from "./templates/built-in.ts";
import { customTemplate } from "./templates/custom.ts";
import { readPolicy, readValues } from "./values.ts";

export interface SettingsSources {
  /** As the ConfigMap of Istio's injector has them, decoded. */
  readonly values: unknown;
  readonly config: unknown;
  /** With its defaults filled in. */
  readonly meshConfig: MeshConfigSpec;
  readonly revision: string;
  readonly compliancePolicy: string;
  annotationError(name: string, value: string): string | undefined;
}

/** Of Istio's own templates the built-in ones stand for what their texts say. */
const istioTemplates: ReadonlySet<string> = new Set([
  ...builtInTemplates.keys(),
  "waypoint",
  "kube-gateway",
  "agentgateway",
  "agentgateway-waypoint",
]);

export function createInjectSettings(sources: SettingsSources): InjectSettings {
  const policy = readPolicy(sources.config);
  const custom = [...policy.templates].filter(([name]) => !istioTemplates.has(name));
  return {
    values: readValues(sources.values),
    rawValues: readRecord(sources.values),
    policy,
    templates: new Map([
      ...builtInTemplates,
      ...custom.map(([name, text]) => [name, customTemplate(name, text)] as const),
    ]),
    meshConfig: sources.meshConfig,
    revision: sources.revision,
    compliancePolicy: sources.compliancePolicy,
    annotationError: sources.annotationError,
  };
}
