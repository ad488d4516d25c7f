/** Certificates that were issued in; what a workload was given last out: by whom it is signed, and which roots came with it. */
import { dropOldest } from "../lib/index.ts";
import { formatIdentity, type Identity } from "../model/index.ts";
import type { Binding } from "./binding.ts";

export interface Holder {
  readonly identity: Identity;
  /** Name of its Pod; others are known by their address. */
  readonly pod: string | undefined;
  readonly address: string;
}

export interface Issuance {
  /** Fingerprint of the signer. */
  readonly signer: string;
  /** Which roots came with it, in any order. */
  readonly roots: string;
  readonly until: Date;
  readonly serial: string;
}

/** One of the last, with whom it was for. */
export interface NotedIssuance extends Holder {
  readonly serial: string;
  readonly until: Date;
}

export interface Issuances {
  note(identity: Identity, binding: Binding | undefined, address: string, issuance: Issuance): void;
  /** Undefined for a workload that did not come for a certificate since this process began. */
  of(holder: Holder): Issuance | undefined;
  /** Of all workloads, newest first. */
  latest(): readonly NotedIssuance[];
}

/** More than one control plane serves; the longest unrenewed are forgotten first. */
const maxHolders = 50_000;
const maxLatest = 500;

export function createIssuances(): Issuances {
  const last = new Map<string, Issuance>();
  const latest = new Set<NotedIssuance>();
  return {
    note(identity, binding, address, issuance) {
      const holder = { identity, pod: binding?.pod?.name, address };
      const key = keyOf(holder);
      latest.add({ ...holder, serial: issuance.serial, until: issuance.until });
      dropOldest(latest, maxLatest);
      // Put last again: order is age.
      last.delete(key);
      last.set(key, issuance);
      dropOldest(last, maxHolders);
    },
    latest: () => [...latest].reverse(),
    of: (holder) => last.get(keyOf(holder)) ?? last.get(keyOf({ ...holder, pod: undefined })),
  };
}

function keyOf({ identity, pod, address }: Holder): string {
  return JSON.stringify([formatIdentity(identity), pod ?? null, pod === undefined ? address : ""]);
}
