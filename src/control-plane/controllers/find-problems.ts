/** The mesh's objects in; what is wrong with each of those that have something wrong, out. Of Pods only those that have to do with credentials are looked at. */
import {
  type AnalysisLevel,
  analyserNames,
  analysisSteps,
  decodeMeshConfig,
  type Problem,
} from "../../config/index.ts";
import { readRecord } from "../../lib/index.ts";
import { type KubeObject, objectKey } from "../../model/index.ts";
import { politely } from "../politely.ts";
import type { ObjectRefusal } from "../refusals.ts";

export interface ObjectProblem {
  readonly code: string;
  readonly level: AnalysisLevel;
  readonly message: string;
  readonly path: string;
}

export interface ProblemInputs {
  /** Istio's and the Gateway API's objects, Services and Namespaces; Secrets, ConfigMaps and Pods as far as credentials need them. */
  readonly objects: readonly KubeObject[];
  /** MeshConfig as written. */
  readonly meshConfig: string;
  /** What decoding found. */
  readonly decoding: readonly Problem[];
  /** What rendering skipped of EnvoyFilters, by `namespace/name`. */
  readonly patches: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** What proxies refuse, by `Kind/namespace/name`. */
  readonly refused: ReadonlyMap<string, readonly ObjectRefusal[]>;
  readonly now: Date;
}

/** Analysers that would take the absence of Pods for a mistake are left to `fairlead analyze`. */
const looksAtPods: ReadonlySet<string> = new Set([
  "auth.AuthorizationPoliciesAnalyzer",
  "authn.BlockedCIDRsAnalyzer",
  "destinationrule.SubsetSelectPodAnalyzer",
  "gateway.CertificateAnalyzer",
  "gateway.ConflictingGatewayAnalyzer",
  "gateway.IngressGatewayPortAnalyzer",
  "k8sgateway.CRDVersionAnalyzer",
  "k8sgateway.SelectorAnalyzer",
  "meshnetworks.MeshNetworksAnalyzer",
  "sidecar.SelectorAnalyzer",
  "telemetry.SelectorAnalyzer",
  "virtualservice.JWTClaimRouteAnalyzer",
]);
const ofConfig = analyserNames.filter(
  (name) =>
    name === "gateway.SecretAnalyzer" ||
    (!looksAtPods.has(name) &&
      /^(schema|virtualservice|destinationrule|serviceentry|telemetry|envoyfilter|fairlead)\./.test(name)),
);

/** By `Kind/namespace/name`. */
export async function findProblems(inputs: ProblemInputs): Promise<ReadonlyMap<string, readonly ObjectProblem[]>> {
  const found = new Map<string, ObjectProblem[]>();
  const add = (id: string, problem: ObjectProblem): void => {
    const own = found.get(id) ?? [];
    found.set(id, own);
    own.push(problem);
  };
  for (const { object, path, message, hint } of inputs.decoding)
    add(
      object,
      hint === undefined
        ? { code: "IST0106", level: "Error", path, message: `Schema validation error: ${message}` }
        : { code: "FLD0003", level: "Warning", path, message: `${message}; ${hint}` },
    );
  const mesh = decodeMeshConfig(inputs.meshConfig).ok ?? {};
  const messages = await politely(
    analysisSteps(
      { files: [], cluster: inputs.objects },
      { now: inputs.now, own: true, only: ofConfig, threshold: "Warning", mesh },
    ),
  );
  // Of a Gateway for all gateways nobody can say where its credentials are looked for.
  const forAll = new Set(inputs.objects.filter(selectsAll).map(({ metadata }) => `Gateway/${objectKey(metadata)}`));
  for (const { kind, namespace, name, code, level, message, path = "" } of messages)
    if (
      !isStanding(kind, code) &&
      !isOthers(kind, path) &&
      !(forAll.has(`${kind}/${namespace}/${name}`) && /credential/i.test(path))
    )
      add(`${kind}/${namespace}/${name}`, { code, level, message, path });
  const exists = new Set(
    inputs.objects.filter(({ kind }) => kind === "EnvoyFilter").map(({ metadata }) => objectKey(metadata)),
  );
  for (const [filter, skipped] of inputs.patches)
    if (exists.has(filter))
      for (const [path, why] of skipped)
        add(`EnvoyFilter/${filter}`, {
          code: "FLD0004",
          level: "Warning",
          path,
          message: `The patch is skipped: ${why}`,
        });
  for (const [id, refusals] of inputs.refused)
    for (const { path, message, isSure } of refusals)
      add(id, { code: refusedCode, level: isSure ? "Error" : "Warning", path, message });
  return found;
}

/** Of what an Envoy refused. */
export const refusedCode = "FLD0006";

/** A Gateway without Pods is no mistake; one of the Gateway API has conditions of its own, and Pods are here for Gateways only. */
const isOthers = (kind: string, path: string): boolean =>
  kind === "Pod" || (kind === "Gateway" && (path === "spec.selector" || path.startsWith("spec.listeners")));

const selectsAll = ({ kind, apiVersion, spec }: KubeObject): boolean =>
  kind === "Gateway" &&
  apiVersion.startsWith("networking.istio.io/") &&
  Object.keys(readRecord(readRecord(spec).selector)).length === 0;

/** Every EnvoyFilter is warned of, whatever it says. */
const isStanding = (kind: string, code: string): boolean => kind === "EnvoyFilter" && code === "IST0133";
