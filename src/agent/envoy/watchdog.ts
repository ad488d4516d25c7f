/** A running Envoy in; its end out, where its admin has not answered for long. */
import { type Logger, type SilenceLimits, watchSilence } from "../../lib/index.ts";
import type { EnvoyAdmin } from "./admin.ts";
import type { EnvoyProcess } from "./process.ts";

/** Envoy's main thread answers between two updates, which take seconds on a busy machine. */
export const envoySilence: SilenceLimits = {
  ...{ periodMs: 5_000, answerMs: 5_000, warnMs: 20_000, replaceMs: 60_000, minQuestions: 6, startMs: 300_000 },
};

export interface WatchdogOptions {
  readonly admin: EnvoyAdmin;
  readonly limits: SilenceLimits;
  readonly log: Logger;
  /** Envoy has gone, or is to go. */
  readonly signal: AbortSignal;
}

/** Resolves with true when it has ended a hanging Envoy. One that runs already is not starting. */
export async function watchEnvoy(envoy: EnvoyProcess, options: WatchdogOptions): Promise<boolean> {
  const { admin, limits, ...more } = options;
  const own = envoy.adopted ? { ...limits, startMs: 0 } : limits;
  const silence = await watchSilence({ ...more, limits: own, name: "Envoy", ask: admin.answer });
  if (silence === undefined) return false;
  options.log.error(silence);
  envoy.kill();
  return true;
}
