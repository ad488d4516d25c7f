/** What a container of a Pod is doing, as the API tells it. */

export type RestartPolicy = "Always" | "OnFailure" | "Never";

export const restartPolicies: readonly RestartPolicy[] = ["Always", "OnFailure", "Never"];

export interface Termination {
  readonly kind: "terminated";
  readonly exitCode: number;
  /** Zero where it ended by itself. */
  readonly signal: number;
  readonly reason: "Completed" | "Error";
  /** The last lines that it wrote. */
  readonly message: string;
  readonly startedAt: Date;
  readonly finishedAt: Date;
}

export type ContainerState =
  | { readonly kind: "waiting"; readonly reason: string; readonly message: string }
  | { readonly kind: "running"; readonly startedAt: Date }
  | Termination;

export interface ContainerStatus {
  readonly name: string;
  readonly state: ContainerState;
  readonly last: Termination | undefined;
  readonly restarts: number;
  readonly ready: boolean;
  /** Why it is not ready, where a probe has said so. */
  readonly problem: string;
}

export function shouldRestart(policy: RestartPolicy, exitCode: number): boolean {
  return policy === "Always" || (policy === "OnFailure" && exitCode !== 0);
}
