/** A running Envoy in, an Envoy that has let go of its clients and ended out. */
import { type Logger, wait } from "../../lib/index.ts";
import type { EnvoyAdmin } from "./admin.ts";
import type { EnvoyProcess } from "./process.ts";

export interface DrainOptions {
  readonly admin: EnvoyAdmin;
  readonly inboundOnly: boolean;
  /** terminationDrainDuration: how long work in progress may take. */
  readonly durationMs: number;
  /** With EXIT_ON_ZERO_ACTIVE_CONNECTIONS: at least this long, then until no connection is left. */
  readonly untilIdle?: { readonly minimumMs: number; readonly except: ReadonlySet<string> };
  readonly log: Logger;
}

export async function drainEnvoy(envoy: EnvoyProcess, options: DrainOptions): Promise<void> {
  const { admin, inboundOnly, log } = options;
  log.info("draining Envoy before it is ended");
  await admin
    .drain({ inboundOnly, skipExit: false })
    .catch((error) => log.warn("Envoy could not be told to drain", { cause: String(error) }));
  const stop = new AbortController();
  const drained = options.untilIdle
    ? waitUntilIdle(options, options.untilIdle, stop.signal)
    : wait(options.durationMs, stop.signal);
  await Promise.race([envoy.exited, drained.catch(() => {})]);
  stop.abort();
  envoy.kill();
  await envoy.exited;
}

const checkMs = 1000;
const maxFailures = 5;

async function waitUntilIdle(
  options: DrainOptions,
  idle: NonNullable<DrainOptions["untilIdle"]>,
  signal: AbortSignal,
): Promise<void> {
  await wait(idle.minimumMs, signal);
  for (let failures = 0; failures < maxFailures; await wait(checkMs, signal)) {
    try {
      const active = await options.admin.activeConnections(idle.except);
      if (active === undefined || active === 0) return;
      failures = 0;
      options.log.info("connections are still active", { active });
    } catch {
      failures++;
    }
  }
}
