/** A Pod's status, as often as it changes, in; the latest of it in the API out, tried again for as long as the API is away. */
import type { KubeClient, ObjectRef } from "../../kube/index.ts";
import { createBackoff, FairleadError, type Logger, wait } from "../../lib/index.ts";
import { pods } from "../kinds.ts";
import type { PodStatus } from "./pod-status.ts";

export interface StatusWriter {
  set(status: PodStatus): void;
  /** Resolves when the API has the latest, or the time is up. */
  flush(timeoutMs: number): Promise<void>;
  close(): void;
}

export interface StatusWriterOptions {
  readonly client: KubeClient;
  readonly pod: ObjectRef;
  readonly random: () => number;
  readonly log: Logger;
}

export function createStatusWriter(options: StatusWriterOptions): StatusWriter {
  const stop = new AbortController();
  const backoff = createBackoff({ minMs: 100, maxMs: 2_000, random: options.random });
  let wanted: PodStatus | undefined;
  let writing: Promise<void> | undefined;

  const tryOnce = async (status: PodStatus): Promise<void> => {
    try {
      await options.client.patchStatus(pods, options.pod, status, { signal: stop.signal });
      backoff.reset();
      if (wanted === status) wanted = undefined;
    } catch (thrown) {
      const error = FairleadError.from(thrown);
      if (stop.signal.aborted) return;
      // A Pod that is gone has no status; what it ran is about to end.
      if (error.code === "not-found") wanted = undefined;
      else {
        options.log.debug(`${options.pod.name}: its status could not be written: ${error.message}`);
        await wait(backoff.nextMs(), stop.signal).catch(() => {});
      }
    }
  };
  const write = async (): Promise<void> => {
    while (wanted && !stop.signal.aborted) await tryOnce(wanted);
    writing = undefined;
  };
  return {
    set(status) {
      wanted = status;
      writing ??= write();
    },
    async flush(timeoutMs) {
      const enough = new AbortController();
      await Promise.race([writing, wait(timeoutMs, enough.signal).catch(() => {})]);
      enough.abort();
    },
    close: () => stop.abort(),
  };
}
