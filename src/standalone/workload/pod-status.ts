/** The containers of a Pod in; the Pod's status, as a kubelet writes it, out. */
import type { ContainerState, ContainerStatus } from "./container-state.ts";

export interface PodCondition {
  readonly type: string;
  readonly status: "True" | "False";
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime: string;
}

export interface PodStatus {
  readonly phase: "Pending" | "Running" | "Succeeded" | "Failed";
  readonly startTime: string;
  readonly conditions: readonly PodCondition[];
  readonly initContainerStatuses: readonly object[];
  readonly containerStatuses: readonly object[];
}

export interface PodPicture {
  readonly containers: readonly ContainerStatus[];
  /** Containers that have done their work before the others start. */
  readonly initNames: readonly string[];
  readonly startTime: Date;
  /** It is about to end: peers must stop sending before its proxy stops listening. */
  readonly ending: boolean;
  /** Set when its process has ended for good. */
  readonly exitCode: number | undefined;
  readonly now: Date;
}

export function podStatus(picture: PodPicture, before: PodStatus | undefined): PodStatus {
  const unready = picture.containers.filter(({ ready }) => !ready);
  const notReady = {
    reason:
      picture.exitCode === undefined ? "ContainersNotReady" : picture.exitCode === 0 ? "PodCompleted" : "PodFailed",
    message: unready.map(describe).join("; "),
  };
  const told = (type: string, why: { reason: string; message: string } | undefined): PodCondition => {
    const status = why === undefined ? "True" : "False";
    const same = before?.conditions.find((condition) => condition.type === type && condition.status === status);
    const lastTransitionTime = same?.lastTransitionTime ?? picture.now.toISOString();
    return { type, status, ...why, lastTransitionTime };
  };
  const down = unready.length > 0 ? notReady : undefined;
  const ending = { reason: "Ending", message: "it is being stopped" };
  return {
    phase: phaseOf(picture),
    startTime: picture.startTime.toISOString(),
    conditions: [
      told("PodScheduled", undefined),
      told("PodReadyToStartContainers", undefined),
      told("Initialized", undefined),
      told("ContainersReady", down),
      told("Ready", picture.ending ? ending : down),
    ],
    initContainerStatuses: picture.initNames.map((name) => doneStatus(name, picture.startTime.toISOString())),
    containerStatuses: picture.containers.map(containerStatus),
  };
}

function describe({ name, problem, state }: ContainerStatus): string {
  const why = problem || (state.kind === "waiting" ? state.message || state.reason : "");
  return why === "" ? `${name} is not ready` : `${name} is not ready: ${why}`;
}

function phaseOf({ containers, exitCode }: PodPicture): PodStatus["phase"] {
  if (exitCode !== undefined) return exitCode === 0 ? "Succeeded" : "Failed";
  const started = containers.some(({ state, last }) => state.kind !== "waiting" || last !== undefined);
  return started ? "Running" : "Pending";
}

function containerStatus({ name, ready, restarts, state, last }: ContainerStatus): object {
  return {
    name,
    ready,
    started: state.kind === "running",
    restartCount: restarts,
    image: "",
    imageID: "",
    state: stateObject(state),
    lastState: last && state !== last ? stateObject(last) : {},
  };
}

function doneStatus(name: string, time: string): object {
  const terminated = { exitCode: 0, reason: "Completed", startedAt: time, finishedAt: time };
  return { name, ready: true, started: false, restartCount: 0, image: "", imageID: "", state: { terminated } };
}

function stateObject(state: ContainerState): object {
  if (state.kind === "waiting") return { waiting: { reason: state.reason, message: state.message } };
  if (state.kind === "running") return { running: { startedAt: state.startedAt.toISOString() } };
  const { exitCode, signal, reason, message, startedAt, finishedAt } = state;
  return {
    terminated: {
      exitCode,
      ...(signal === 0 ? {} : { signal }),
      reason,
      message,
      startedAt: startedAt.toISOString(),
      finishedAt: finishedAt.toISOString(),
    },
  };
}
