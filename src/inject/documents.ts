/**
 * The text of a file with any objects in; its documents out, with a proxy in every workload that is to have one. Objects
 * that hold no Pod come out as they went in.
 */
import { FairleadError, isRecord, parseYaml, readList, readRecord, readText } from "../lib/index.ts";
import { mergeProxyConfig, type ProxyConfigValues } from "../model/index.ts";
import { type InjectSettings, injectPod } from "./inject-pod.ts";
import { typedObject } from "./kube/typed.ts";
import { type WorkloadType, workloadType } from "./kube/workload-types.ts";
import { ownerOfPod } from "./owner.ts";
import { annotationsOf, type Fields, type Pod } from "./pod.ts";
import { isInjected, usesHostNetwork } from "./selection.ts";
import type { Owner } from "./templates/input.ts";

export interface DocumentOptions {
  readonly settings: InjectSettings;
  readonly nativeSidecars: boolean;
  /** Throws for what cannot be read. */
  readProxyConfig(text: string): ProxyConfigValues;
  /** Why a workload is left without a proxy. */
  warn(text: string): void;
}

export type InjectedDocument = { readonly text: string } | { readonly object: Fields };

export function injectDocuments(text: string, options: DocumentOptions): readonly InjectedDocument[] {
  return splitDocuments(text).map((document) => {
    const [object] = parseYaml(document);
    const injected = injectObject(object, options);
    return injected ? { object: injected } : { text: document };
  });
}

/** Lines of `---` alone stand between documents; each keeps its own text. */
function splitDocuments(text: string): readonly string[] {
  const documents: string[] = [];
  let lines: string[] = [];
  const end = (): void => {
    if (lines.length > 0) documents.push(`${lines.join("\n")}\n`);
    lines = [];
  };
  for (const line of text.replace(/\n$/, "").split("\n")) {
    if (/^---\s*$/.test(line)) end();
    else lines.push(line);
  }
  end();
  return documents.filter((document) => document !== "\n");
}

/** Undefined for an object that holds no Pod. */
function injectObject(object: unknown, options: DocumentOptions): Fields | undefined {
  if (isRecord(object) && object.apiVersion === "v1" && object.kind === "List") {
    const items = readList(object.items).map((item) => injectObject(item, options) ?? item);
    return { ...object, metadata: readRecord(object.metadata), items };
  }
  const type = workloadType(object);
  return type && injectWorkload(type, object, options);
}

function injectWorkload(type: WorkloadType, object: unknown, options: DocumentOptions): Fields {
  const workload = typedObject(type.type(), object);
  const holder = at(workload, type.spec);
  if (!isRecord(holder)) throw new FairleadError("invalid", `${nameOf(workload)}: spec.template is required value`);
  const pod = { metadata: readRecord(readRecord(at(workload, type.metadata)).metadata), spec: readRecord(holder.spec) };
  const injected = injectInto(pod, workload, options);
  if (!injected) return workload;
  const withSpec = replaced(workload, [...type.spec, "spec"], injected.spec);
  return typedObject(type.type(), replaced(withSpec, [...type.metadata, "metadata"], injected.metadata));
}

/** Undefined for a Pod that is to have no proxy. */
function injectInto(pod: Pod, workload: Fields, options: DocumentOptions): Pod | undefined {
  const { settings } = options;
  const owner = ownerOf(workload);
  const skip = (why: string): undefined => {
    options.warn(`Skipping injection because ${titleOf(pod, owner)} has ${why}`);
  };
  if (usesHostNetwork(pod)) return skip("host networking enabled");
  const written = annotationsOf(pod)["proxy.istio.io/config"];
  const base = settings.meshConfig.defaultConfig;
  const proxyConfig = written === undefined ? (base ?? {}) : mergeProxyConfig(options.readProxyConfig(written), base);
  if (!isInjected(pod, settings.policy)) return skip("sidecar injection disabled");
  // What the annotation says holds for this workload as if it were the mesh's setting.
  const own = { ...settings, meshConfig: { ...settings.meshConfig, defaultConfig: proxyConfig } };
  return injectPod(pod, own, { owner, proxyConfig, nativeSidecars: options.nativeSidecars });
}

function ownerOf(workload: Fields): Owner {
  if (workload.kind === "Pod") return ownerOfPod(workload);
  const { name, namespace } = readRecord(workload.metadata);
  return {
    apiVersion: readText(workload.apiVersion),
    kind: readText(workload.kind),
    name: readText(name),
    namespace: readText(namespace),
  };
}

function titleOf(pod: Pod, owner: Owner): string {
  const name = readText(readRecord(pod.metadata).name) || owner.name;
  return `${owner.kind} ${JSON.stringify(owner.namespace === "" ? name : `${owner.namespace}/${name}`)}`;
}

const nameOf = (workload: Fields): string =>
  `${readText(workload.kind)} ${readText(readRecord(workload.metadata).name)}`;

function at(object: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, name) => (isRecord(value) ? value[name] : undefined), object);
}

function replaced(object: Fields, [name = "", ...rest]: readonly string[], value: unknown): Fields {
  return { ...object, [name]: rest.length === 0 ? value : replaced(readRecord(object[name]), rest, value) };
}
