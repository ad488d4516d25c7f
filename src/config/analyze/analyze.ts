/** Objects of files and of a cluster in, everything that is suspicious about them out, as `istioctl analyze` says it. */
import { sortBy } from "../../lib/index.ts";
import { type MeshConfigSpec, type MeshNetworksSpec, mergeMeshConfig } from "../../model/index.ts";
import { finish } from "../steps.ts";
import type { ValidateOptions } from "../validate/check.ts";
import type { Analyser, Analysis } from "./analyser.ts";
import { annotations } from "./annotations.ts";
import { credentials } from "./credential.ts";
import { delegates } from "./delegates.ts";
import { conditions, crdVersions, deprecatedFields } from "./deprecation.ts";
import { caCertificates, subsetPods } from "./destination-rule.ts";
import { envoyPatches } from "./envoy-filter.ts";
import { foreignHosts } from "./foreign-host.ts";
import { certificates, conflicts, gatewayPorts, secrets } from "./gateway.ts";
import { type AnalysisLevel, type AnalysisMessage, atLeast, levelOf } from "./message.ts";
import { meshNetworks } from "./networks.ts";
import { type AnalysedObject, type AnalysisSources, collectObjects } from "./objects.ts";
import { plaintextSources } from "./plaintext-source.ts";
import { authorizationPolicies, blockedCidrs, gatewaySelectors } from "./policy.ts";
import { schemaAnalysers } from "./schema.ts";
import { lightstep, sidecarSelectors, telemetryDefaults, telemetryProviders, telemetrySelectors } from "./scoped.ts";
import { conflictingProtocols, protocolAddresses } from "./service-entry.ts";
import { unhonoured } from "./unhonoured.ts";
import { claimRoutes, destinationHosts, destinationSubsets, gateways, meshHosts } from "./virtual-service.ts";
import { externalControlPlane, webhooks } from "./webhooks.ts";
import { applicationUid, autoImages, injection, injectionImages, portNames, serviceAssociation } from "./workloads.ts";

const analysers: readonly Analyser[] = [
  annotations,
  blockedCidrs,
  authorizationPolicies,
  conditions,
  serviceAssociation,
  applicationUid,
  caCertificates,
  subsetPods,
  deprecatedFields,
  envoyPatches,
  externalControlPlane,
  gatewayPorts,
  certificates,
  secrets,
  conflicts,
  injection,
  injectionImages,
  autoImages,
  gatewaySelectors,
  crdVersions,
  meshNetworks,
  portNames,
  sidecarSelectors,
  meshHosts,
  destinationHosts,
  destinationSubsets,
  gateways,
  claimRoutes,
  protocolAddresses,
  conflictingProtocols,
  webhooks,
  telemetryProviders,
  telemetrySelectors,
  telemetryDefaults,
  lightstep,
  ...schemaAnalysers,
];

/** What Istio has no words for. */
const ownAnalysers: readonly Analyser[] = [unhonoured, delegates, plaintextSources, foreignHosts, credentials];

/** What `--analyzer` takes. */
export const analyserNames: readonly string[] = [...analysers, ...ownAnalysers].map(({ name }) => name);

export interface AnalyzeOptions extends ValidateOptions {
  /** As written; Istio's defaults are filled in here. */
  readonly mesh?: MeshConfigSpec;
  readonly networks?: MeshNetworksSpec;
  /** Only messages about objects of this namespace, and about objects without one. */
  readonly namespace?: string;
  /** Also what Istio does not look for; codes FLD…. */
  readonly own?: boolean;
  /** Only these analysers; names that nobody has are ignored, and with none left all run. */
  readonly only?: readonly string[];
  /** `IST0102=Namespace default`, `IST0101=VirtualService shop/*`. */
  readonly suppress?: readonly string[];
  readonly threshold?: AnalysisLevel;
  readonly now: Date;
}

export function analyze(sources: AnalysisSources, options: AnalyzeOptions): readonly AnalysisMessage[] {
  return finish(analysisSteps(sources, options));
}

/** The same, a step at a time, for who has other things to do in between. */
export function* analysisSteps(
  sources: AnalysisSources,
  options: AnalyzeOptions,
): Generator<undefined, readonly AnalysisMessage[]> {
  const found = new Map<string, AnalysisMessage>();
  const suppressions = (options.suppress ?? []).map(parseSuppression);
  const analysis: Analysis = {
    objects: yield* collectObjects(sources),
    mesh: mergeMeshConfig(options.mesh ?? {}),
    networks: options.networks ?? {},
    written: { mesh: options.mesh ?? {}, networks: options.networks ?? {} },
    options,
    now: options.now,
    report(object, code, message, path) {
      const level = levelOf(code);
      if (!atLeast(level, options.threshold ?? "Info") || isSuppressed(object, code, suppressions)) return;
      const { kind, meta } = object;
      // A Namespace is in itself.
      const home = kind === "Namespace" ? meta.name : meta.namespace;
      if (options.namespace && home !== "" && home !== options.namespace) return;
      const key = JSON.stringify([code, kind, object.fullName, message, object.fromFile ? path : ""]);
      found.set(key, {
        code,
        level,
        kind,
        namespace: meta.namespace,
        name: meta.name,
        message,
        ...(path ? { path } : {}),
      });
    },
  };
  const all = options.own ? [...analysers, ...ownAnalysers] : analysers;
  for (const analyser of chosen(all, options.only ?? [])) {
    yield undefined;
    if (sources.cluster || !analyser.needsCluster) yield* analyser.run(analysis) ?? [];
  }
  const ranks = { Error: 0, Warning: 1, Info: 2 };
  return sortBy(
    found.values(),
    ({ level }) => ranks[level],
    ({ code }) => code,
    ({ kind, namespace, name }) => `${kind}/${name}/${namespace}`,
    ({ message }) => message,
  );
}

function chosen(all: readonly Analyser[], names: readonly string[]): readonly Analyser[] {
  const some = all.filter(({ name }) => names.includes(name));
  return some.length === 0 ? all : some;
}

interface Suppression {
  readonly code: string;
  readonly pattern: string;
}

function parseSuppression(text: string): Suppression {
  const at = text.indexOf("=");
  return { code: text.slice(0, at), pattern: text.slice(at + 1) };
}

function isSuppressed(object: AnalysedObject<unknown>, code: string, suppressions: readonly Suppression[]): boolean {
  const own = (object.meta.annotations["galley.istio.io/analyze-suppress"] ?? "").split(",");
  if (own.includes("*") || own.includes(code)) return true;
  return suppressions.some((one) => one.code === code && matchesGlob(one.pattern, `${object.kind} ${object.fullName}`));
}

/** `*` stands for any text; compared piece by piece, so that no pattern is slow. */
function matchesGlob(pattern: string, text: string): boolean {
  const [head = "", ...pieces] = pattern.split("*");
  if (pieces.length === 0) return pattern === text;
  if (!text.startsWith(head)) return false;
  const tail = pieces.pop() ?? "";
  let at = head.length;
  for (const piece of pieces) {
    const next = text.indexOf(piece, at);
    if (next < 0) return false;
    at = next + piece.length;
  }
  return text.length - tail.length >= at && text.endsWith(tail);
}
