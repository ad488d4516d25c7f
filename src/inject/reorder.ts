/** Containers in; the same in the order in which they must start out. */
import { type Container, containersOf, findContainer, type Pod, proxyName, withContainers } from "./pod.ts";

type Move = (containers: readonly Container[], name: string) => readonly Container[];

const others = (containers: readonly Container[], name: string): readonly Container[] =>
  containers.filter((container) => container.name !== name);

const toFront: Move = (containers, name) => {
  const found = findContainer(containers, name);
  return found ? [found, ...others(containers, name)] : containers;
};

const toBack: Move = (containers, name) => {
  const found = findContainer(containers, name);
  return found ? [...others(containers, name), found] : containers;
};

export function reorderContainers(pod: Pod, proxyFirst: boolean): Pod {
  const init = containersOf(pod, "initContainers");
  const first = (list: readonly Container[], ...names: readonly string[]): readonly Container[] =>
    names.reduce(toFront, list);
  // A native proxy starts right after the capture, so that other init containers are in the mesh. Otherwise the check of
  // the capture comes first, to hold up everything, and the capture itself last, to hold up no init container.
  const ordered = findContainer(init, proxyName)
    ? first(init, "enable-core-dump", proxyName, "istio-validation", "istio-init")
    : ["istio-init", "enable-core-dump"].reduce(toBack, first(init, "istio-validation"));
  const proxy = proxyFirst ? toFront : toBack;
  const placed = withContainers(pod, "containers", proxy(containersOf(pod), proxyName));
  return withContainers(placed, "initContainers", ordered);
}
