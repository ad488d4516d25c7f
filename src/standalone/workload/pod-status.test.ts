import { describe, expect, test } from "vitest";
import type { ContainerState, ContainerStatus } from "./container-state.ts";
import { podStatus } from "./pod-status.ts";

const at = (second: number): Date => new Date(1_700_000_000_000 + second * 1000);
const running: ContainerState = { kind: "running", startedAt: at(1) };
const container = (name: string, change: Partial<ContainerStatus> = {}): ContainerStatus => ({
  name,
  state: running,
  last: undefined,
  restarts: 0,
  ready: true,
  problem: "",
  ...change,
});
const picture = (containers: readonly ContainerStatus[], second = 2) => ({
  containers,
  initNames: ["istio-init"],
  startTime: at(0),
  ending: false,
  exitCode: undefined,
  now: at(second),
});
const conditionsOf = (status: ReturnType<typeof podStatus>) =>
  new Map(status.conditions.map((condition) => [condition.type, condition]));

describe("the status of a Pod", () => {
  test("it is ready when all its containers are", () => {
    const status = podStatus(picture([container("app"), container("istio-proxy")]), undefined);
    expect(status.phase).toBe("Running");
    expect(status.conditions.map(({ status }) => status)).toEqual(Array(5).fill("True"));
  });

  test("one that is not ready is named with its reason, and times change only with the verdict", () => {
    const good = podStatus(picture([container("app")], 2), undefined);
    const bad = podStatus(picture([container("app", { ready: false, problem: "port 80 is closed" })], 3), good);
    const worse = podStatus(picture([container("app", { ready: false, problem: "it hangs" })], 4), bad);
    expect(conditionsOf(bad).get("Ready")).toMatchObject({
      status: "False",
      reason: "ContainersNotReady",
      message: "app is not ready: port 80 is closed",
      lastTransitionTime: at(3).toISOString(),
    });
    expect(conditionsOf(worse).get("Ready")).toMatchObject({
      message: "app is not ready: it hangs",
      lastTransitionTime: at(3).toISOString(),
    });
    expect(conditionsOf(worse).get("Initialized")?.lastTransitionTime).toBe(at(2).toISOString());
  });

  test("a container that waits to be started again shows why it ended", () => {
    const last = {
      kind: "terminated",
      exitCode: 137,
      signal: 9,
      reason: "Error",
      message: "out of luck",
      startedAt: at(0),
      finishedAt: at(1),
    } as const;
    const state = { kind: "waiting", reason: "CrashLoopBackOff", message: "back-off 1s" } as const;
    const status = podStatus(picture([container("app", { state, last, restarts: 3, ready: false })]), undefined);
    expect(status.phase).toBe("Running");
    expect(status.containerStatuses).toMatchObject([
      {
        restartCount: 3,
        state: { waiting: { reason: "CrashLoopBackOff" } },
        lastState: { terminated: { exitCode: 137, signal: 9, reason: "Error", message: "out of luck" } },
      },
    ]);
  });

  test("before anything has started it is pending; when its process has ended for good it says how", () => {
    const waiting = container("app", { state: { kind: "waiting", reason: "PodInitializing", message: "" } });
    expect(podStatus(picture([waiting]), undefined).phase).toBe("Pending");
    expect(podStatus({ ...picture([container("app")]), exitCode: 0 }, undefined).phase).toBe("Succeeded");
    expect(podStatus({ ...picture([container("app")]), exitCode: 3 }, undefined).phase).toBe("Failed");
  });

  test("one that is about to end is not ready, though its containers are", () => {
    const status = podStatus({ ...picture([container("app")]), ending: true }, undefined);
    expect(conditionsOf(status).get("ContainersReady")?.status).toBe("True");
    expect(conditionsOf(status).get("Ready")).toMatchObject({ status: "False", reason: "Ending" });
  });
});
