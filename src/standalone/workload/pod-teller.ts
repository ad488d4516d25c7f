/** What each container of a Pod says of itself in; the Pod's status, written to the API, and waiting for a state of it, out. */
import { FairleadError } from "../../lib/index.ts";
import type { ContainerStatus } from "./container-state.ts";
import { type PodStatus, podStatus } from "./pod-status.ts";
import type { StatusWriter } from "./status-writer.ts";

export interface PodTeller {
  report(status: ContainerStatus): void;
  /** The process has ended for good. */
  ended(exitCode: number): void;
  /** Says that the Pod is about to end, and waits a little until the API has it. */
  ending(): Promise<void>;
  /** Resolves when these containers are ready; rejects with what is missing when the signal comes first. */
  ready(names: readonly string[], signal: AbortSignal): Promise<void>;
}

export interface TellerOptions {
  readonly names: readonly string[];
  /** Containers that have done their work before the others start. */
  readonly initNames: readonly string[];
  readonly writer: StatusWriter;
  readonly now: () => Date;
}

const endingMs = 3_000;

export function createPodTeller({ names, initNames, writer, now }: TellerOptions): PodTeller {
  const startTime = now();
  const statuses = new Map<string, ContainerStatus>(names.map((name) => [name, notStarted(name)]));
  const listeners = new Set<() => void>();
  let told: PodStatus | undefined;
  let [isEnding, exitCode] = [false, undefined as number | undefined];
  const tell = (): void => {
    told = podStatus(
      { containers: [...statuses.values()], initNames, startTime, ending: isEnding, exitCode, now: now() },
      told,
    );
    writer.set(told);
    for (const listener of listeners) listener();
  };
  return {
    report(status) {
      statuses.set(status.name, status);
      tell();
    },
    ended(code) {
      exitCode = code;
      tell();
    },
    async ending() {
      isEnding = true;
      tell();
      await writer.flush(endingMs);
    },
    ready: (wanted, signal) =>
      new Promise((resolve, reject) => {
        const finish = (settle: () => void): void => {
          listeners.delete(look);
          signal.removeEventListener("abort", giveUp);
          settle();
        };
        const missing = (): readonly ContainerStatus[] =>
          wanted.flatMap((name) => statuses.get(name) ?? []).filter(({ ready }) => !ready);
        const look = (): void => {
          if (missing().length === 0) finish(resolve);
        };
        const giveUp = (): void => finish(() => reject(notReady(missing())));
        listeners.add(look);
        signal.addEventListener("abort", giveUp, { once: true });
        if (signal.aborted) giveUp();
        else look();
      }),
  };
}

function notStarted(name: string): ContainerStatus {
  const state = { kind: "waiting", reason: "PodInitializing", message: "" } as const;
  return { name, state, last: undefined, restarts: 0, ready: false, problem: "" };
}

function notReady(missing: readonly ContainerStatus[]): FairleadError {
  const [first] = missing;
  const why = first?.problem || first?.last?.message || first?.state.kind || "";
  return new FairleadError("timeout", `container ${first?.name} is not ready: ${why}`, {
    hint: "its log says more",
  });
}
