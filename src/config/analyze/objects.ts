/** Objects of the API in, a set that analysers look things up in out: by kind, by name, with typed specs where there are any. */
import { compareText, isRecord, readRecord, readText, readTextMap } from "../../lib/index.ts";
import { type Config, type Kind, kindOf, type SpecOf } from "../../model/index.ts";
import { decodeSpec } from "../decode-spec.ts";

export interface AnalysedObject<Spec = Readonly<Record<string, unknown>>> {
  readonly kind: string;
  readonly meta: Config<unknown>["meta"] & {
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
  };
  /** `namespace/name`, or the bare name where there is no namespace. */
  readonly fullName: string;
  readonly spec: Spec;
  readonly raw: Readonly<Record<string, unknown>>;
  /** Files have lines, so that two faults of one kind in one object are two messages. */
  readonly fromFile: boolean;
}

export interface AnalysedObjects {
  /** Istio's and the Gateway API's objects, with their specs decoded; what cannot be decoded is not here. */
  of<K extends Kind>(kind: K): readonly AnalysedObject<SpecOf<K>>[];
  /** Kubernetes' own objects, as they are. */
  kube(kind: KubeKind): readonly AnalysedObject[];
  find<K extends Kind>(kind: K, fullName: string): AnalysedObject<SpecOf<K>> | undefined;
}

export type KubeKind =
  | "ConfigMap"
  | "CustomResourceDefinition"
  | "Deployment"
  | "MutatingWebhookConfiguration"
  | "Namespace"
  | "Node"
  | "Pod"
  | "Secret"
  | "Service"
  | "ValidatingWebhookConfiguration";

/** What the cluster itself says of these counts; files of them are not looked at. */
const runtimeKinds: ReadonlySet<string> = new Set(["Namespace", "Node", "Pod", "Secret", "Service"]);

const ignoredNamespaces: ReadonlySet<string> = new Set([
  "kube-system",
  "kube-public",
  "kube-node-lease",
  "local-path-storage",
]);

export interface AnalysisSources {
  readonly files: readonly unknown[];
  /** Undefined where no cluster is asked. */
  readonly cluster?: readonly unknown[] | undefined;
}

/** Each object is a step: a mesh has many, and one may be large. */
export function* collectObjects(sources: AnalysisSources): Generator<undefined, AnalysedObjects> {
  const byKind = new Map<string, Map<string, AnalysedObject<unknown>>>();
  const add = (raw: unknown, fromFile: boolean): void => {
    const object = readObject(raw, fromFile);
    if (!object || (fromFile && runtimeKinds.has(object.kind) && !kindOf(readText(object.raw.apiVersion), object.kind)))
      return;
    if (ignoredNamespaces.has(object.kind === "Namespace" ? object.meta.name : object.meta.namespace)) return;
    const key = groupKind(object);
    const known = byKind.get(key) ?? new Map<string, AnalysedObject<unknown>>();
    byKind.set(key, known);
    // Files stand for what is about to be applied, so they win.
    if (!known.has(object.fullName)) known.set(object.fullName, object);
  };
  for (const raw of sources.files.flatMap(expandList)) {
    add(raw, true);
    yield;
  }
  for (const raw of (sources.cluster ?? []).flatMap(expandList)) {
    add(raw, false);
    yield;
  }
  const list = (key: string): readonly AnalysedObject<unknown>[] => [...(byKind.get(key)?.values() ?? [])];
  return {
    // The spec was decoded with the kind's schema.
    of: <K extends Kind>(kind: K) => list(`${kind.group}/${kind.kind}`) as readonly AnalysedObject<SpecOf<K>>[],
    kube: (kind) => list(kind) as readonly AnalysedObject[],
    find: <K extends Kind>(kind: K, fullName: string) =>
      byKind.get(`${kind.group}/${kind.kind}`)?.get(fullName) as AnalysedObject<SpecOf<K>> | undefined,
  };
}

function groupKind(object: AnalysedObject<unknown>): string {
  const kind = kindOf(readText(object.raw.apiVersion), object.kind);
  return kind ? `${kind.group}/${kind.kind}` : object.kind;
}

function expandList(raw: unknown): readonly unknown[] {
  return isRecord(raw) && readText(raw.kind).endsWith("List") && Array.isArray(raw.items)
    ? raw.items.flatMap(expandList)
    : [raw];
}

function readObject(raw: unknown, fromFile: boolean): AnalysedObject<unknown> | undefined {
  if (!isRecord(raw) || !isRecord(raw.metadata)) return undefined;
  const { name, namespace } = raw.metadata;
  const kind = readText(raw.kind);
  const schema = kindOf(readText(raw.apiVersion), kind);
  const spec = schema ? decodeSpec(schema, raw) : { value: readRecord(raw.spec) };
  if ("fault" in spec || typeof name !== "string") return undefined;
  const meta = {
    name,
    namespace: readText(namespace),
    labels: readTextMap(raw.metadata.labels),
    annotations: readTextMap(raw.metadata.annotations),
  };
  return {
    kind,
    meta,
    fullName: meta.namespace === "" ? name : `${meta.namespace}/${name}`,
    spec: spec.value,
    raw,
    fromFile,
  };
}

/** `a=b,c=d` by name, as Kubernetes prints a selector. */
export function selectorText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .sort(compareText)
    .join(",");
}

/** A name that may have its namespace before it. */
export const inNamespace = (namespace: string, name: string): string =>
  name.includes("/") || namespace === "" ? name : `${namespace}/${name}`;
