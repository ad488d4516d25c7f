/** A workload that is probed in; a report to the control plane whenever its health changes, and on each new stream the last one, out. */
import { create, toBinary } from "@bufbuild/protobuf";
import { DeltaDiscoveryRequestSchema } from "../../gen/envoy/service/discovery/v3/discovery_pb.js";
import { type Logger, wait } from "../../lib/index.ts";
import { healthType, type ReadinessProbe } from "../../model/index.ts";
import { status } from "../../rpc/index.ts";
import type { OwnSubscription } from "../own-subscription.ts";
import { askWorkload, type ProbePlan, probePlan } from "./workload-probe.ts";

export interface HealthReportsOptions {
  readonly probe: ReadinessProbe;
  readonly appAddress: string;
  /** Why Envoy is not ready: a workload whose proxy does not work cannot be reached. */
  readonly proxyNotReady: () => Promise<string | undefined>;
  readonly log: Logger;
}

export interface HealthReports {
  readonly subscription: OwnSubscription;
  /** Probes until aborted. */
  run(signal: AbortSignal): Promise<void>;
}

export function createHealthReports(options: HealthReportsOptions): HealthReports {
  const { log } = options;
  const plan = probePlan(options.probe, options.appAddress);
  const senders = new Set<(request: Uint8Array) => void>();
  const verdict = createVerdict(plan);
  let last: Uint8Array | undefined;

  const look = async (): Promise<void> => {
    const error = (await options.proxyNotReady().catch(String)) ?? (await askWorkload(plan));
    if (!verdict.changes(error)) return;
    log.info(error === undefined ? "the workload is healthy" : "the workload is not healthy", { cause: error });
    last = encodeReport(error);
    for (const send of senders) send(last);
  };
  return {
    subscription: {
      typeUrl: healthType,
      isWhole: true,
      attach(send) {
        senders.add(send);
        if (last) send(last);
        return () => senders.delete(send);
      },
      receive: () => undefined,
    },
    async run(signal) {
      for (let waitMs = plan.delayMs; ; waitMs = plan.periodMs) {
        if (waitMs > 0) await wait(waitMs, signal);
        signal.throwIfAborted();
        await look();
      }
    },
  };
}

/** Only so many answers in a row change what is believed. */
function createVerdict({ successes, failures }: Pick<ProbePlan, "successes" | "failures">) {
  let [healthy, good, bad]: [boolean | undefined, number, number] = [undefined, 0, 0];
  return {
    changes(error: string | undefined): boolean {
      [good, bad] = error === undefined ? [good + 1, 0] : [0, bad + 1];
      const now = good >= successes ? true : bad >= failures ? false : healthy;
      const changed = now !== healthy;
      healthy = now;
      return changed;
    },
  };
}

const maxMessageLength = 1024;

/** As Istio's agent writes it: an error is what the workload lacks. */
function encodeReport(error: string | undefined): Uint8Array {
  const message = error?.slice(0, maxMessageLength);
  const errorDetail = message === undefined ? {} : { errorDetail: { code: status.internal, message } };
  const request = create(DeltaDiscoveryRequestSchema, { typeUrl: healthType, ...errorDetail });
  return toBinary(DeltaDiscoveryRequestSchema, request);
}
