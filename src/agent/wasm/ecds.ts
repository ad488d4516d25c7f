/**
 * Responses with extensions' configurations in; the same out, with modules that were to be fetched on this machine's disk.
 * Where one cannot be had the last good configuration stays, or a filter stands in that lets everything or nothing
 * through, as the plugin says; it is tried again, and told when it has come.
 */
import { createBackoff, FairleadError, type Logger, wait } from "../../lib/index.ts";
import { types } from "../../model/index.ts";
import type { WantedNames } from "../wanted-names.ts";
import { type RemoteWasm, readRemoteWasm } from "./extension-config.ts";
import type { WasmMetrics } from "./metrics.ts";
import type { ModuleCache, ModuleRequest } from "./module-cache.ts";
import { type Configured, convertResponse } from "./response.ts";

export interface EcdsOptions {
  readonly cache: Pick<ModuleCache, "get">;
  readonly metrics: WasmMetrics;
  readonly random: () => number;
  readonly nowMs: () => number;
  readonly log: Logger;
  readonly retry?: { readonly minMs: number; readonly maxMs: number };
}

/** Of one stream. */
export interface StreamEnd {
  readonly signal: AbortSignal;
  /** A module that was missing has come: whoever asks again gets it. */
  onRecovered(): void;
}

/** Changes responses of one type on their way to Envoy. */
export interface ResponseRewriter {
  readonly typeUrl: string;
  rewrite(variant: "sotw" | "delta", response: Uint8Array, stream: StreamEnd): Promise<Uint8Array>;
  /** Told what Envoy asks for. What it no longer wants is not always told to be gone. */
  asked?(names: WantedNames): void;
}

export interface EcdsRewriter extends ResponseRewriter {
  /** Files that configurations name which Envoy may be given again. */
  inUse(): readonly string[];
}

/** A configuration, and the file with the module that it names. */
interface Good {
  readonly bytes: Uint8Array;
  readonly file: string;
}

const usualRetry = { minMs: 5_000, maxMs: 300_000 };

export function createEcdsRewriter(options: EcdsOptions): EcdsRewriter {
  const { cache, metrics, log } = options;
  /** By extension, what it was last configured with as it was meant. */
  const lastGood = new Map<string, Good>();
  /** By extension, the retries for what it was last told: another configuration ends them. */
  const retries = new Map<string, AbortController>();

  const convert = async (bytes: Uint8Array, stream: StreamEnd): Promise<Configured> => {
    const wasm = read(bytes);
    if (!wasm) return { bytes, isStandIn: false };
    retries.get(wasm.name)?.abort();
    const found = await have(wasm, stream);
    if (!("problem" in found)) {
      metrics.converted("success");
      lastGood.set(wasm.name, found);
      return { bytes: found.bytes, isStandIn: false };
    }
    const last = lastGood.get(wasm.name);
    const instead = last
      ? "the last good configuration is kept"
      : wasm.failOpen
        ? "all is let through"
        : "all is refused";
    log.error(`a Wasm module cannot be had: ${instead}`, { extension: wasm.name, cause: found.problem });
    return { bytes: last?.bytes ?? wasm.standIn(), isStandIn: true };
  };

  const read = (bytes: Uint8Array): RemoteWasm | undefined => {
    try {
      const wasm = readRemoteWasm(bytes);
      if (!wasm) metrics.converted("no_remote_load");
      return wasm;
    } catch {
      // Envoy refuses it in words of its own.
      metrics.converted("unmarshal_failure");
      return undefined;
    }
  };

  /** The configuration with its module, or why there is none. */
  const have = async (wasm: RemoteWasm, stream: StreamEnd): Promise<Good | { readonly problem: string }> => {
    const failed = (result: string, problem: string): { readonly problem: string } => {
      metrics.converted(result);
      return { problem };
    };
    if (wasm.url === "") return failed("miss_remote_fetch_hint", "no address says where the module is");
    if (wasm.pullSecret === "") return failed("fetch_failure", "the pull secret is missing, or is not for this proxy");
    const request = requestOf(wasm);
    const found = await cache.get(request).catch((error: unknown) => ({ problem: FairleadError.from(error).message }));
    // A later stream may have been told something else meanwhile.
    stream.signal.throwIfAborted();
    if ("file" in found) return { bytes: wasm.withFile(found.file), file: found.file };
    void tryAgain(wasm.name, request, stream);
    return failed("fetch_failure", found.problem);
  };

  const tryAgain = async (name: string, request: ModuleRequest, stream: StreamEnd): Promise<void> => {
    const own = new AbortController();
    retries.set(name, own);
    const signal = AbortSignal.any([own.signal, stream.signal]);
    const backoff = createBackoff({ ...(options.retry ?? usualRetry), random: options.random });
    while (!signal.aborted) {
      await wait(backoff.nextMs(), signal).catch(() => {});
      if (signal.aborted) return;
      const found = await cache.get(request).catch(() => undefined);
      if (!found || !("file" in found) || signal.aborted) continue;
      log.info("a Wasm module that was missing has come", { extension: name });
      stream.onRecovered();
      return;
    }
  };

  const forget = (name: string): void => {
    retries.get(name)?.abort();
    retries.delete(name);
    lastGood.delete(name);
  };

  return {
    typeUrl: types.extension,
    inUse: () => [...lastGood.values()].map(({ file }) => file),
    asked(names) {
      const known = new Set([...lastGood.keys(), ...retries.keys()]);
      for (const name of "only" in names ? known.difference(names.only) : names.without) forget(name);
    },
    async rewrite(variant, response, stream) {
      const startedMs = options.nowMs();
      try {
        return await convertResponse(variant, response, { convert: (bytes) => convert(bytes, stream), forget });
      } finally {
        metrics.took(options.nowMs() - startedMs);
      }
    },
  };
}

function requestOf({ url, checksum, pullSecret, timeoutMs, name, version, policy }: RemoteWasm): ModuleRequest {
  return { url, checksum, pullSecret, timeoutMs, resource: name, version, policy };
}
