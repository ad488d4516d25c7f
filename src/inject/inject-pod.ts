/**
 * A Pod and the settings of the mesh in; the injected Pod out, or the error that names the annotation to blame. It is an
 * ordered list of small steps over plain data; no text is parsed that was made from parts.
 */
import { FairleadError } from "../lib/index.ts";
import type { MeshConfigSpec, ProxyConfigValues } from "../model/index.ts";
import { badAnnotation } from "./annotation-error.ts";
import { overlay } from "./kube/overlay.ts";
import { podType } from "./kube/workload-types.ts";
import { applyOverrides, beforeInjection, followProxyUser } from "./overrides.ts";
import {
  addAnnotations,
  addEnv,
  addLabels,
  annotationsOf,
  changeContainer,
  containersOf,
  envOf,
  type Fields,
  findContainer,
  labelsOf,
  type Pod,
  proxyName,
  withContainers,
} from "./pod.ts";
import { rewriteProbes } from "./probes.ts";
import { announceSecurePort, mergeMetrics } from "./prometheus.ts";
import { reorderContainers } from "./reorder.ts";
import { statusAnnotation, statusText } from "./status.ts";
import { isNative, type Owner, type Template, type TemplateInput } from "./templates/input.ts";
import type { InjectPolicy, InjectValues } from "./values.ts";

/** What holds for every Pod of the mesh. */
export interface InjectSettings {
  readonly values: InjectValues;
  /** As they were given, for users' templates. */
  readonly rawValues: Fields;
  readonly policy: InjectPolicy;
  /** The built-in ones, and the users' own. */
  readonly templates: ReadonlyMap<string, Template>;
  readonly meshConfig: MeshConfigSpec;
  readonly revision: string;
  readonly compliancePolicy: string;
  /** What is wrong with an annotation's value; undefined where nothing is. */
  annotationError(name: string, value: string): string | undefined;
}

export interface PodContext {
  readonly owner: Owner;
  /** The settings of this Pod's proxy. */
  readonly proxyConfig: ProxyConfigValues;
  readonly nativeSidecars: boolean;
  /** Set on the proxy whatever the template says: from the webhook's path. */
  readonly extraEnv?: ReadonlyMap<string, string>;
  readonly proxyUser?: number;
  readonly proxyGroup?: number;
}

const defaultUser = 1337;

export function injectPod(pod: Pod, settings: InjectSettings, context: PodContext): Pod {
  checkAnnotations(pod, settings);
  const input = templateInput(pod, settings, context);
  const { merged, added } = applyTemplates(pod, input, settings);
  const overridden = followProxyUser(applyOverrides(merged, pod, added), pod, context.proxyConfig);
  const env = proxyEnv(pod, settings, context);
  const reinjected = Object.hasOwn(annotationsOf(overridden), statusAnnotation);
  const steps: readonly ((before: Pod) => Pod)[] = [
    (before) => withEnv(before, env),
    (before) => mergeMetrics(before, settings.meshConfig),
    announceSecurePort,
    (before) =>
      rewriteProbes(before, {
        rewrite: settings.values.rewriteProbes,
        statusPort: settings.meshConfig.defaultConfig?.statusPort ?? 0,
        reinjected,
      }),
    (before) => withMarks(before, added, env, settings),
    (before) => reorderContainers(before, holdsApplication(settings, context)),
  ];
  return steps.reduce((result, step) => step(result), overridden);
}

function checkAnnotations(pod: Pod, settings: InjectSettings): void {
  for (const [name, value] of Object.entries(annotationsOf(pod))) {
    const wrong = settings.annotationError(name, value);
    if (wrong !== undefined) throw badAnnotation(name, value, wrong);
  }
}

function templateInput(pod: Pod, settings: InjectSettings, context: PodContext): TemplateInput {
  const { values, meshConfig, revision, compliancePolicy } = settings;
  const { owner, proxyConfig, nativeSidecars } = context;
  return {
    pod: beforeInjection(pod),
    owner,
    meshConfig,
    proxyConfig,
    values,
    rawValues: settings.rawValues,
    revision,
    nativeSidecars,
    proxyUser: context.proxyUser ?? defaultUser,
    proxyGroup: context.proxyGroup ?? defaultUser,
    compliancePolicy,
  };
}

function applyTemplates(pod: Pod, input: TemplateInput, settings: InjectSettings): { merged: Pod; added: Pod } {
  const type = podType();
  let [merged, added]: [Pod, Pod] = [pod, {}];
  for (const name of templateNames(pod, settings.policy)) {
    const template = settings.templates.get(name);
    if (!template)
      throw new FairleadError(
        "invalid",
        `requested template ${JSON.stringify(name)} not found; have ${[...settings.templates.keys()].sort().join(", ")}`,
        { hint: "annotation inject.istio.io/templates names the templates" },
      );
    const part = template(input);
    added = overlay(type, added, part);
    merged = overlay(type, isNative(input) ? besideInit(merged, added) : merged, part);
  }
  return { merged, added };
}

function templateNames(pod: Pod, policy: InjectPolicy): readonly string[] {
  const chosen = annotationsOf(pod)["inject.istio.io/templates"];
  const names = chosen === undefined ? policy.defaultTemplates : chosen.split(",").map((name) => name.trim());
  // Once each: a second time changes nothing, and a thousandth takes as long as the first.
  return [...new Set(names.flatMap((name) => policy.aliases.get(name) ?? [name]))];
}

/** A user writes the proxy's container among the containers, wherever the template has it. */
function besideInit(pod: Pod, added: Pod): Pod {
  const containers = containersOf(pod);
  const written = findContainer(containers, proxyName);
  if (!written || !findContainer(containersOf(added, "initContainers"), proxyName)) return pod;
  const rest = withContainers(
    pod,
    "containers",
    containers.filter((container) => container !== written),
  );
  return withContainers(rest, "initContainers", [...containersOf(pod, "initContainers"), written]);
}

/** Cluster and network as the webhook's path, the Pod's label or the values say. */
function proxyEnv(pod: Pod, { values }: InjectSettings, { extraEnv }: PodContext): ReadonlyMap<string, string> {
  const env = new Map(extraEnv);
  const cluster = env.get("ISTIO_META_CLUSTER_ID") || values.cluster;
  const label = labelsOf(pod)["topology.istio.io/network"];
  const network = label ?? (env.get("ISTIO_META_NETWORK") || values.network);
  if (cluster !== "") env.set("ISTIO_META_CLUSTER_ID", cluster);
  if (network !== "") env.set("ISTIO_META_NETWORK", network);
  return env;
}

function withEnv(pod: Pod, env: ReadonlyMap<string, string>): Pod {
  if (env.size === 0) return pod;
  const added = [...env].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, value]) => ({ name, value }));
  return changeContainer(pod, proxyName, (proxy) =>
    addEnv({ ...proxy, env: envOf(proxy).filter(({ name }) => !env.has(name)) }, ...added),
  );
}

function withMarks(pod: Pod, added: Pod, env: ReadonlyMap<string, string>, settings: InjectSettings): Pod {
  const network = env.get("ISTIO_META_NETWORK");
  const labelled = addLabels(pod, network === undefined ? {} : { "topology.istio.io/network": network });
  return addAnnotations(labelled, {
    [statusAnnotation]: statusText(added, settings.revision),
    ...settings.policy.injectedAnnotations,
  });
}

const holdsApplication = ({ values }: InjectSettings, { proxyConfig }: PodContext): boolean =>
  (proxyConfig.holdApplicationUntilProxyStarts ?? false) || values.holdApplication;
