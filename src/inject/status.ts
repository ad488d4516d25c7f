/** The annotation that says what injection has added: written at the end, read when a Pod comes by again. */
import { goJson, isRecord, parseJson, readTexts } from "../lib/index.ts";
import { annotationsOf, type ContainerList, containersOf, type Fields, type Pod, specOf } from "./pod.ts";

export const statusAnnotation = "sidecar.istio.io/status";

export type InjectedNames = Readonly<Record<ContainerList, readonly string[]>>;

/** Undefined for a Pod that was not injected, or whose annotation cannot be read. */
export function readStatus(pod: Pod): InjectedNames | undefined {
  const text = annotationsOf(pod)[statusAnnotation];
  const status = text === undefined ? undefined : parse(text);
  return status && { containers: readTexts(status.containers), initContainers: readTexts(status.initContainers) };
}

function parse(text: string): Fields | undefined {
  try {
    const parsed = parseJson(text);
    return isRecord(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

/** `added` is what the templates alone make. */
export function statusText(added: Pod, revision: string): string {
  const names = (list: readonly { readonly name?: unknown }[]): readonly unknown[] | null =>
    list.length === 0 ? null : list.map(({ name }) => name);
  const { volumes, imagePullSecrets } = specOf(added);
  const records = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.filter(isRecord) : []);
  return goJson({
    initContainers: names(containersOf(added, "initContainers")),
    containers: names(containersOf(added)),
    volumes: names(records(volumes)),
    imagePullSecrets: names(records(imagePullSecrets)),
    revision: revision || "default",
  });
}
