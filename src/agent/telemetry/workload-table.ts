/**
 * Addresses of peers in; who is there, as the control plane says, out. An address is asked for when its Envoy has talked
 * with it, on the stream that Envoy has with the control plane, and is followed for as long as it is of use.
 */
import { toBinary } from "@bufbuild/protobuf";
import {
  type DeltaDiscoveryRequest,
  DeltaDiscoveryRequestSchema,
  DeltaDiscoveryResponseSchema,
} from "../../gen/envoy/service/discovery/v3/discovery_pb.js";
import { type Workload, WorkloadSchema } from "../../gen/fairlead/workload_pb.js";
import { parseIp } from "../../lib/index.ts";
import { types } from "../../model/index.ts";
import { type ClientResource, createClientState } from "../../xds/index.ts";
import { decodeMessage } from "../decode-message.ts";
import type { OwnSubscription } from "../own-subscription.ts";

export interface WorkloadTable {
  /** `pending`: asked for, and not long enough ago to do without an answer. */
  lookup(address: string): Workload | "pending" | undefined;
  /** Told of each address whose answer has come or changed. */
  onChange(listener: (address: string) => void): void;
  /** Forgets addresses that nobody has looked up for so long. */
  dropIdle(idleMs: number): void;
  /** Waits no longer than this for an answer. */
  readonly graceMs: number;
  readonly subscription: OwnSubscription;
}

export interface WorkloadTableOptions {
  readonly monotonicMs: () => number;
  readonly maxAddresses?: number;
  readonly graceMs?: number;
}

interface Entry {
  readonly askedAtMs: number;
  usedAtMs: number;
  workload: Workload | undefined;
}

export function createWorkloadTable(options: WorkloadTableOptions): WorkloadTable {
  const { monotonicMs, maxAddresses = 4096, graceMs = 5000 } = options;
  const entries = new Map<string, Entry>();
  const listeners: ((address: string) => void)[] = [];
  const state = createClientState({ node: {} });
  const wanted = new Set<string>();
  let send: ((request: Uint8Array) => void) | undefined;

  const tell = (request: DeltaDiscoveryRequest | undefined): void => {
    if (request) send?.(toBinary(DeltaDiscoveryRequestSchema, request));
  };

  /** New addresses come many at once, with one batch of lines: they are asked for in one request. */
  function want(address: string): void {
    wanted.add(address);
    if (wanted.size === 1)
      setImmediate(() => {
        const names = [...wanted].filter((name) => entries.has(name));
        wanted.clear();
        if (names.length > 0) tell(state.subscribe(types.workload, names));
      });
  }

  function drop(addresses: readonly string[]): void {
    for (const address of addresses) entries.delete(address);
    if (addresses.length > 0) tell(state.unsubscribe(types.workload, addresses));
  }

  function take({ name, bytes }: Pick<ClientResource, "name" | "bytes">): void {
    const entry = entries.get(name);
    if (!entry) return;
    entry.workload = bytes.length === 0 ? undefined : decodeMessage(WorkloadSchema, bytes);
    for (const listener of listeners) listener(name);
  }

  return {
    graceMs,
    lookup(address) {
      const nowMs = monotonicMs();
      const known = entries.get(address);
      if (known) {
        known.usedAtMs = nowMs;
        return known.workload ?? (nowMs - known.askedAtMs < graceMs ? "pending" : undefined);
      }
      // Where there is no room, nobody is asked: the oldest are dropped by the clock, not by whoever comes next.
      if (entries.size >= maxAddresses || parseIp(address) === undefined) return undefined;
      entries.set(address, { askedAtMs: nowMs, usedAtMs: nowMs, workload: undefined });
      want(address);
      return "pending";
    },
    onChange: (listener) => listeners.push(listener),
    dropIdle(idleMs) {
      const before = monotonicMs() - idleMs;
      drop([...entries].filter(([, { usedAtMs }]) => usedAtMs < before).map(([address]) => address));
    },
    subscription: {
      typeUrl: types.workload,
      attach(sender) {
        send = sender;
        if (state.held(types.workload).size > 0 || entries.size > 0)
          for (const request of state.opening()) tell(request);
        return () => {
          if (send === sender) send = undefined;
        };
      },
      receive(bytes) {
        const response = decodeMessage(DeltaDiscoveryResponseSchema, bytes);
        if (!response) return undefined;
        const { answer, change } = state.receive(response, ({ updated }) =>
          updated.every((resource) => decodeMessage(WorkloadSchema, resource.bytes)?.name)
            ? undefined
            : "not a workload",
        );
        for (const resource of change?.updated ?? []) take(resource);
        for (const name of change?.removed ?? []) take({ name, bytes: new Uint8Array(0) });
        return toBinary(DeltaDiscoveryRequestSchema, answer);
      },
    },
  };
}
