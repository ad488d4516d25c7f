/** What a template is made from: the Pod, who owns it, and the settings that hold for it. */
import type { MeshConfigSpec, ProxyConfigValues } from "../../model/index.ts";
import { annotationsOf, type Fields, type Pod } from "../pod.ts";
import type { InjectValues } from "../values.ts";

/** The object that people know the Pod by: its Deployment, Job, … or itself. */
export interface Owner {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
}

export interface TemplateInput {
  /** Without what an earlier injection has added. */
  readonly pod: Pod;
  readonly owner: Owner;
  readonly meshConfig: MeshConfigSpec;
  readonly proxyConfig: ProxyConfigValues;
  readonly values: InjectValues;
  readonly rawValues: Fields;
  readonly revision: string;
  /** Whether the nodes run sidecars as containers that start before the others. */
  readonly nativeSidecars: boolean;
  readonly proxyUser: number;
  readonly proxyGroup: number;
  readonly compliancePolicy: string;
}

/** What is laid over the Pod. */
export type Template = (input: TemplateInput) => Fields;

export type Interception = "REDIRECT" | "TPROXY" | "NONE";

/** An annotation, also an empty one, wins over the mesh's setting. */
export function annotation(input: TemplateInput, name: string, fallback: string): string {
  const annotations = annotationsOf(input.pod);
  return Object.hasOwn(annotations, name) ? (annotations[name] ?? "") : fallback;
}

export const hasAnnotation = (input: TemplateInput, name: string): boolean =>
  Object.hasOwn(annotationsOf(input.pod), name);

export const interceptionOf = (input: TemplateInput): string =>
  annotation(input, "sidecar.istio.io/interceptionMode", input.proxyConfig.interceptionMode ?? "REDIRECT");

export const statusPortOf = (input: TemplateInput): string =>
  annotation(input, "status.sidecar.istio.io/port", input.values.proxy.statusPort);

export const trustDomainOf = ({ meshConfig, values }: TemplateInput): string =>
  meshConfig.trustDomain || values.trustDomain;

/** Whether the proxy is a container that starts before the others and outlives them. */
export function isNative(input: TemplateInput): boolean {
  const chosen = annotationsOf(input.pod)["sidecar.istio.io/nativeSidecar"];
  return chosen ? chosen !== "false" : input.nativeSidecars;
}

/** `{ [name]: value }`, or nothing where there is no value. */
export function optional<T>(name: string, value: T | undefined | false | ""): Readonly<Record<string, T>> {
  return value === undefined || value === false || value === "" ? {} : { [name]: value };
}
