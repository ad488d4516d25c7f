/**
 * Containers that a user wrote under the name of one that is injected: what they say wins over the template. They are
 * kept in an annotation, so that injecting the Pod again comes to the same.
 */
import { goJson, isRecord, parseJson } from "../lib/index.ts";
import type { ProxyConfigValues } from "../model/index.ts";
import { badAnnotation } from "./annotation-error.ts";
import { overlay } from "./kube/overlay.ts";
import { typedValue } from "./kube/typed.ts";
import { kubeType } from "./kube/types.ts";
import { podType } from "./kube/workload-types.ts";
import {
  addAnnotations,
  annotationsOf,
  type Container,
  type ContainerList,
  changeContainer,
  containersOf,
  findContainer,
  findInPod,
  type Pod,
  proxyName,
  readContainers,
  withContainers,
} from "./pod.ts";
import { readStatus, statusAnnotation } from "./status.ts";

const overridesAnnotation = "proxy.istio.io/overrides";
const lists: readonly ContainerList[] = ["containers", "initContainers"];

type Containers = Readonly<Record<ContainerList, readonly Container[]>>;

function readOverrides(pod: Pod): Containers {
  const text = annotationsOf(pod)[overridesAnnotation];
  if (text === undefined) return { containers: [], initContainers: [] };
  try {
    const parsed = parseJson(text);
    if (isRecord(parsed))
      return { containers: readContainers(parsed.containers), initContainers: readContainers(parsed.initContainers) };
  } catch {
    // Said below, with the annotation's name.
  }
  throw badAnnotation(overridesAnnotation, text, "not a JSON object with containers");
}

/** The Pod as it was before it was injected: without what was added, and with what the user wrote for it. */
export function beforeInjection(pod: Pod): Pod {
  const status = readStatus(pod);
  const stripped = status ? withoutInjected(pod, status) : pod;
  const overrides = readOverrides(stripped);
  return lists.reduce((result, list) => {
    const there = containersOf(result, list);
    const names = new Set(there.map(({ name }) => name));
    const missing = overrides[list].filter(({ name }) => !names.has(name));
    return missing.length === 0 ? result : withContainers(result, list, [...there, ...missing]);
  }, stripped);
}

function withoutInjected(pod: Pod, injected: Readonly<Record<ContainerList, readonly string[]>>): Pod {
  return lists.reduce((result, list) => {
    const names = new Set(injected[list]);
    return withContainers(
      result,
      list,
      containersOf(result, list).filter(({ name }) => !names.has(name)),
    );
  }, pod);
}

/** `original` is the Pod that came in, `added` what the templates alone make, `merged` the two together. */
export function applyOverrides(merged: Pod, original: Pod, added: Pod): Pod {
  const injected = readStatus(original);
  const known = readOverrides(original);
  const found: Record<ContainerList, Container[]> = { containers: [], initContainers: [] };
  let result = merged;
  for (const list of lists)
    for (const { name } of containersOf(added, list)) {
      // What stands in the Pod is no wish of the user's where an earlier injection wrote it.
      const own = injected?.[list].includes(name) ? undefined : writtenIn(original, list, name);
      const written = findContainer(known[list], name) ?? own;
      if (!written) continue;
      // The image is a required field; `auto` leaves it to the template.
      const { image, ...rest } = written;
      const wish: Container = image === "auto" || image === "" ? rest : written;
      found[list].push(wish);
      result = overlay(podType(), result, { spec: { [list]: [wish] } });
    }
  const reinjected = Object.hasOwn(annotationsOf(original), statusAnnotation);
  return reinjected || lists.every((list) => found[list].length === 0)
    ? result
    : addAnnotations(result, { [overridesAnnotation]: overridesText(found) });
}

function writtenIn(pod: Pod, list: ContainerList, name: string): Container | undefined {
  return list === "containers" ? findContainer(containersOf(pod), name) : findInPod(pod, name);
}

function overridesText(found: Containers): string {
  const type = { kind: "object", type: () => kubeType("io.k8s.api.core.v1.Container") } as const;
  const shown = lists.flatMap((list) =>
    found[list].length === 0 ? [] : [[list, typedValue({ kind: "list", items: type }, found[list], list)] as const],
  );
  return goJson(Object.fromEntries(shown));
}

/** The capture must exempt the user that the proxy really runs as, and the check of it must run as that user. */
export function followProxyUser(merged: Pod, original: Pod, proxyConfig: ProxyConfigValues): Pod {
  const { runAsUser, runAsGroup } = identityOf(findInPod(original, proxyName));
  if (runAsUser === undefined && runAsGroup === undefined) return merged;
  const init = ["istio-init", "istio-validation"].find((name) =>
    findContainer(containersOf(merged, "initContainers"), name),
  );
  if (init === undefined) return merged;
  const mode = annotationsOf(merged)["sidecar.istio.io/interceptionMode"];
  const tproxy = proxyConfig.interceptionMode === "TPROXY" || mode === "TPROXY";
  // Transparent capture works for root only.
  const asRoot = tproxy && runAsUser !== undefined;
  const result = asRoot ? changeContainer(merged, proxyName, (proxy) => runAs(proxy, { runAsUser: 0 })) : merged;
  const checked = !tproxy && init === "istio-validation" ? { runAsUser, runAsGroup } : {};
  return changeContainer(result, init, (container) => withUserArg(runAs(container, checked), runAsUser));
}

interface RunAs {
  readonly runAsUser?: number | undefined;
  readonly runAsGroup?: number | undefined;
}

function identityOf(container: Container | undefined): RunAs {
  const context = container && isRecord(container.securityContext) ? container.securityContext : {};
  const number = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);
  return { runAsUser: number(context.runAsUser), runAsGroup: number(context.runAsGroup) };
}

function runAs(container: Container, { runAsUser, runAsGroup }: RunAs): Container {
  if (runAsUser === undefined && runAsGroup === undefined) return container;
  const before = isRecord(container.securityContext) ? container.securityContext : {};
  const given = {
    ...(runAsUser === undefined ? {} : { runAsUser }),
    ...(runAsGroup === undefined ? {} : { runAsGroup }),
  };
  return { ...container, securityContext: { ...before, ...given } };
}

/** Root cannot be exempted from capture. */
function withUserArg(container: Container, user: number | undefined): Container {
  const args = Array.isArray(container.args) ? container.args : [];
  const at = args.indexOf("-u");
  if (user === undefined || user === 0 || at < 0) return container;
  return { ...container, args: args.with(at + 1, String(user)) };
}
