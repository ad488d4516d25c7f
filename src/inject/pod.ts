/** A Pod as plain data: the few looks at it and changes to it that injection is made of. */
import { isRecord, readList, readRecord, readText, readTextMap } from "../lib/index.ts";

export type Fields = Readonly<Record<string, unknown>>;

export interface Container extends Fields {
  readonly name: string;
}

/** Nothing of it is known beyond that it is an object; the functions below read what they need. */
export type Pod = Fields;

type Texts = Readonly<Record<string, string>>;

export const proxyName = "istio-proxy";

export const metadataOf = (pod: Pod): Fields => readRecord(pod.metadata);
export const specOf = (pod: Pod): Fields => readRecord(pod.spec);
export const annotationsOf = (pod: Pod): Texts => textsOf(metadataOf(pod).annotations);
export const labelsOf = (pod: Pod): Texts => textsOf(metadataOf(pod).labels);

/** Asked for dozens of times for one Pod, whose annotations may be many. */
const knownTexts = new WeakMap<object, Texts>();

function textsOf(value: unknown): Texts {
  if (!isRecord(value)) return {};
  const texts = knownTexts.get(value) ?? readTextMap(value);
  knownTexts.set(value, texts);
  return texts;
}

export type ContainerList = "containers" | "initContainers";

export function containersOf(pod: Pod, list: ContainerList = "containers"): readonly Container[] {
  return readContainers(specOf(pod)[list]);
}

export function readContainers(value: unknown): readonly Container[] {
  return readList(value)
    .filter(isRecord)
    .map((container) => ({ ...container, name: readText(container.name) }));
}

export function findContainer(containers: readonly Container[], name: string): Container | undefined {
  return containers.find((container) => container.name === name);
}

/** Among the containers, then among those that run before or beside them. */
export function findInPod(pod: Pod, name: string): Container | undefined {
  return findContainer(containersOf(pod), name) ?? findContainer(containersOf(pod, "initContainers"), name);
}

export function withContainers(pod: Pod, list: ContainerList, containers: readonly Container[]): Pod {
  const { [list]: before, ...rest } = specOf(pod);
  // An absent list stays absent, so that a Pod is not changed for nothing.
  const none = containers.length === 0 && before === undefined;
  return { ...pod, spec: none ? rest : { ...rest, [list]: containers } };
}

/** The first container of that name, in either list, changed. */
export function changeContainer(pod: Pod, name: string, change: (container: Container) => Container): Pod {
  for (const list of ["containers", "initContainers"] as const) {
    const containers = containersOf(pod, list);
    const found = findContainer(containers, name);
    if (found)
      return withContainers(
        pod,
        list,
        containers.map((container) => (container === found ? change(container) : container)),
      );
  }
  return pod;
}

export function withAnnotations(pod: Pod, annotations: Texts): Pod {
  return { ...pod, metadata: { ...metadataOf(pod), annotations } };
}

export function addAnnotations(pod: Pod, added: Texts): Pod {
  return withAnnotations(pod, { ...annotationsOf(pod), ...added });
}

export function addLabels(pod: Pod, added: Texts): Pod {
  return { ...pod, metadata: { ...metadataOf(pod), labels: { ...labelsOf(pod), ...added } } };
}

export interface EnvVar extends Fields {
  readonly name: string;
}

export const envOf = (container: Container): readonly EnvVar[] =>
  readList(container.env)
    .filter(isRecord)
    .map((item) => ({ ...item, name: readText(item.name) }));

export function addEnv(container: Container, ...added: readonly EnvVar[]): Container {
  return { ...container, env: [...envOf(container), ...added] };
}
