/** The agent's settings in; what puts fetched Wasm modules in place of their addresses, and its figures, out. */
import { resolve } from "node:path";
import { createHttpClient } from "../../fetch/index.ts";
import { createAddressGuard, type Logger } from "../../lib/index.ts";
import { createEcdsRewriter, type ResponseRewriter } from "./ecds.ts";
import { createWasmMetrics } from "./metrics.ts";
import { createModuleCache } from "./module-cache.ts";

export interface WasmOptions {
  readonly folder: string;
  /** Hosts, with their ports, whose certificates are not checked; `*` for all. */
  readonly insecureRegistries: readonly string[];
  readonly expiryMs: number;
  readonly purgeMs: number;
  readonly requestTimeoutMs: number;
  readonly maxRetries: number;
  readonly maxBytes: number;
  /** Ranges of addresses that are never called, beside those that nobody may call. */
  readonly blockedRanges: readonly string[];
}

export interface RemoteModules {
  readonly rewriter: ResponseRewriter;
  metrics(): string;
}

export interface RemoteModulesOptions {
  readonly wasm: WasmOptions;
  readonly workDir: string;
  readonly now: () => Date;
  readonly random: () => number;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

export function createRemoteModules(options: RemoteModulesOptions): RemoteModules {
  const { wasm, workDir, now, random, log, signal } = options;
  const insecure = new Set(wasm.insecureRegistries);
  const metrics = createWasmMetrics();
  const cache = createModuleCache({
    ...wasm,
    folder: resolve(workDir, wasm.folder),
    http: createHttpClient({ guard: createAddressGuard(wasm.blockedRanges) }),
    isInsecure: (host) => insecure.has("*") || insecure.has(host),
    ...{ now, random, metrics, log },
  });
  const nowMs = (): number => now().getTime();
  const rewriter = createEcdsRewriter({ cache, metrics, random, nowMs, log });
  cache.purge(signal, rewriter.inUse);
  return { rewriter, metrics: metrics.text };
}
