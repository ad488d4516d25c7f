/** The Pods of a mesh before and after faults, and what was killed, in; which containers are not as they must be out. */
import { type KubeClient, kubeKinds } from "../../src/kube/index.ts";
import { readList, readNumber, readRecord, readText } from "../../src/lib/index.ts";
import type { Kill } from "./faults/fault.ts";

export type Container = "app" | "istio-proxy";

export interface PodState {
  readonly uid: string;
  readonly restarts: ReadonlyMap<string, number>;
  /** When it became ready, or ceased to be. */
  readonly readySince: string;
}

export type PodStates = ReadonlyMap<string, PodState>;

export async function podStates(api: KubeClient): Promise<PodStates> {
  const { items } = await api.list(kubeKinds.pods, { namespace: "default" });
  return new Map(
    items.map(({ metadata, status }) => {
      const { containerStatuses, conditions } = readRecord(status);
      const containers = readList(containerStatuses).map(readRecord);
      const ready = readList(conditions)
        .map(readRecord)
        .find(({ type }) => type === "Ready");
      const state = {
        uid: metadata.uid ?? "",
        restarts: new Map(containers.map(({ name, restartCount }) => [readText(name), readNumber(restartCount) ?? 0])),
        readySince: `${readText(ready?.status)} ${readText(ready?.lastTransitionTime)}`,
      };
      return [metadata.name ?? "", state];
    }),
  );
}

export interface WrongContainer {
  readonly text: string;
  /** It may just not have been started yet. */
  readonly isLate: boolean;
}

/** What was killed is started again, nothing else is, and no Pod is replaced but by its next runner. */
export function wrongContainers(before: PodStates, now: PodStates, kills: readonly Kill[]): readonly WrongContainer[] {
  const replaced = new Set(kills.map(({ replaces }) => replaces));
  return [...before].flatMap(([name, { uid, restarts }]) => {
    const pod = now.get(name);
    if (replaced.has(name)) return [];
    if (pod?.uid !== uid) return [{ text: `Pod ${name} is ${pod ? "another" : "gone"}`, isLate: false }];
    return [...restarts].flatMap(([container, count]) => {
      const killed = kills.filter((kill) => kill.pod?.name === name && kill.container === container).length;
      const again = (pod.restarts.get(container) ?? 0) - count;
      if (killed === 0 ? again === 0 : again >= killed) return [];
      const text = `${container} of ${name} was killed ${killed} times and started again ${again} times`;
      return [{ text, isLate: again < killed }];
    });
  });
}

/** Names of Pods that were not ready all the time. */
export function notReadyThroughout(before: PodStates, now: PodStates): readonly string[] {
  return [...before].flatMap(([name, { readySince }]) => (now.get(name)?.readySince === readySince ? [] : [name]));
}
