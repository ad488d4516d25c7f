/** A Pod's name in; `fairlead run` with that name, that can be killed and started again, out. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { findEnvoy } from "../require.ts";

export interface WorkloadPlan {
  readonly name: string;
  /** Of the Service that selects it. */
  readonly app: string;
  readonly port?: number;
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface ChaosWorkload {
  readonly plan: WorkloadPlan;
  pid(): number;
  hasEnded(): boolean;
  start(): void;
  stop(): Promise<void>;
}

export interface WorkloadOptions {
  readonly dir: string;
  readonly data: string;
  readonly entry: string;
}

export function createWorkload(options: WorkloadOptions, plan: WorkloadPlan): ChaosWorkload {
  let child: ChildProcess | undefined;
  const hasEnded = (): boolean => !child || child.exitCode !== null || child.signalCode !== null;
  return {
    hasEnded,
    plan,
    pid: () => child?.pid ?? 0,
    start() {
      const log = openSync(join(options.dir, `run-${plan.name}.log`), "a");
      const port = plan.port === undefined ? [] : ["--port", String(plan.port)];
      const flags = ["--data", options.data, "--name", plan.name, "--labels", `app=${plan.app}`, "--restart", "Always"];
      const command = [options.entry, "run", ...flags, ...port, "--service-account", plan.app, "--", ...plan.command];
      child = spawn(process.execPath, command, {
        env: { ...process.env, FAIRLEAD_ENVOY: findEnvoy() ?? "", ...plan.env },
        stdio: ["ignore", log, log],
      });
      closeSync(log);
    },
    async stop() {
      if (!child || hasEnded()) return;
      child.kill("SIGTERM");
      await once(child, "exit");
    },
  };
}
