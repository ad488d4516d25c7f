/**
 * A way to start a process in; a container out, as a kubelet keeps it: asked whether it is ready, started again as its
 * policy says, each time later while it goes on failing, and counted.
 */
import { constants } from "node:os";
import { wait } from "../../lib/index.ts";
import type { Running } from "../processes.ts";
import { type ContainerStatus, type RestartPolicy, shouldRestart, type Termination } from "./container-state.ts";
import { type Probe, watchReadiness } from "./readiness.ts";

export interface ContainerOptions {
  readonly name: string;
  readonly policy: RestartPolicy;
  readonly start: () => Running;
  /** Resolves while the process can be used; rejects with what is missing. */
  readonly probe: Probe;
  /** Whether what the process did is still being done though it has ended. */
  readonly outlives?: () => boolean;
  readonly lastLines: () => string;
  readonly changed: (status: ContainerStatus) => void;
  /** `details` are only for whoever asks about this container. */
  readonly tell: (type: "Normal" | "Warning", reason: string, message: string, details?: string) => void;
  readonly now: () => Date;
  readonly monotonicMs: () => number;
}

export interface Container {
  status(): ContainerStatus;
  /** Undefined while it waits to be started again. */
  running(): Running | undefined;
  /** Resolves with the exit code when the policy wants no further start. */
  readonly ended: Promise<number>;
  stop(graceMs: number): Promise<void>;
}

/** The first restart comes at once; then as Kubernetes with its shorter back-off: from one second to one minute. */
const backoffMs = { first: 1_000, longest: 60_000 };
/** A process that ran this long was fine: its next failure is a first one again. */
const soundAfterMs = 10_000;

export function restartDelayMs(failures: number): number {
  return failures <= 1 ? 0 : Math.min(backoffMs.longest, backoffMs.first * 2 ** (failures - 2));
}

export function startContainer(options: ContainerOptions): Container {
  const stop = new AbortController();
  const ended = Promise.withResolvers<number>();
  let running: Running | undefined;
  let status: ContainerStatus = {
    name: options.name,
    state: { kind: "waiting", reason: "ContainerCreating", message: "" },
    last: undefined,
    restarts: 0,
    ready: false,
    problem: "",
  };
  const set = (change: Partial<ContainerStatus>): void => {
    status = { ...status, ...change };
    options.changed(status);
  };
  const backOff = async (failures: number): Promise<void> => {
    const delayMs = restartDelayMs(failures);
    if (delayMs === 0) return;
    const message = `back-off ${delayMs / 1000}s restarting failed container ${options.name}`;
    set({ state: { kind: "waiting", reason: "CrashLoopBackOff", message } });
    options.tell("Warning", "BackOff", `Back-off restarting failed container ${options.name}`);
    await wait(delayMs, stop.signal).catch(() => {});
  };

  const loop = async (): Promise<void> => {
    for (let failures = 0; !stop.signal.aborted; ) {
      const startedAt = options.now();
      const sinceMs = options.monotonicMs();
      running = options.start();
      set({ state: { kind: "running", startedAt } });
      options.tell("Normal", "Started", `Started container ${options.name}`);
      const exit = await untilExit(running, options, status.ready, set);
      running = undefined;
      const last = termination(exit, startedAt, options);
      if (stop.signal.aborted) return set({ state: last, ready: false });
      set({ state: last, last, ready: options.outlives?.() ?? false, problem: "" });
      tellExit(options, last);
      if (!shouldRestart(options.policy, last.exitCode)) return ended.resolve(last.exitCode);
      failures = options.monotonicMs() - sinceMs > soundAfterMs ? 1 : failures + 1;
      await backOff(failures);
      set({ restarts: status.restarts + 1 });
    }
  };
  const done = loop();
  return {
    status: () => status,
    running: () => running,
    ended: ended.promise,
    async stop(graceMs) {
      if (!stop.signal.aborted) options.tell("Normal", "Killing", `Stopping container ${options.name}`);
      stop.abort();
      await running?.stop(graceMs);
      await done;
    },
  };
}

/** Runs the probe for as long as the process lives. */
async function untilExit(
  running: Running,
  options: ContainerOptions,
  ready: boolean,
  set: (change: Partial<ContainerStatus>) => void,
): Promise<number | string> {
  const exited = new AbortController();
  let before = ready;
  const watching = watchReadiness({
    probe: options.probe,
    running,
    ready,
    changed(now, problem) {
      if (before && !now) options.tell("Warning", "Unhealthy", `Readiness probe failed: ${problem}`);
      before = now;
      set({ ready: now, problem });
    },
    hung(problem) {
      options.tell("Warning", "Unhealthy", `Liveness probe failed: ${problem}`);
      options.tell("Normal", "Killing", `Container ${options.name} does not answer, and is started again`);
      running.kill();
    },
    signal: exited.signal,
  });
  const exit = await running.exited;
  exited.abort();
  await watching;
  return exit;
}

function termination(exit: number | string, startedAt: Date, options: ContainerOptions): Termination {
  const signal = typeof exit === "string" ? (signals.get(exit) ?? 0) : 0;
  const exitCode = typeof exit === "string" ? 128 + signal : exit;
  const reason = exitCode === 0 ? "Completed" : "Error";
  return {
    kind: "terminated",
    exitCode,
    signal,
    reason,
    message: options.lastLines(),
    startedAt,
    finishedAt: options.now(),
  };
}

const signals: ReadonlyMap<string, number> = new Map(Object.entries(constants.signals));

function tellExit(options: ContainerOptions, { exitCode, signal, message }: Termination): void {
  const how = signal > 0 ? `was ended by signal ${signal}` : `ended with ${exitCode}`;
  const details = message === "" ? "" : `; its last lines: ${message}`;
  options.tell(exitCode === 0 ? "Normal" : "Warning", "Exited", `Container ${options.name} ${how}`, details);
}
