/** A mesh in; how many certificates each of its workloads was issued, by the control plane's own log, out. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { ChaosMesh } from "../chaos/mesh.ts";

export interface Issued {
  /** Counts from here. */
  begin(): Promise<void>;
  counts(): Readonly<Record<string, number>>;
  fewest(): number;
  /** Resolves when every workload has had so many. */
  until(count: number): Promise<void>;
}

const lookMs = 1000;

export function createIssued(mesh: ChaosMesh): Issued {
  const log = join(mesh.data, "logs/control-plane.log");
  const names = new Map<string, string>();
  let before = new Map<string, number>();
  const byAddress = (): Map<string, number> => {
    const found = new Map<string, number>();
    for (const [, address = ""] of readFileSync(log, "utf8").matchAll(/certificate issued.*client="?([\d.]+):/g))
      found.set(address, (found.get(address) ?? 0) + 1);
    return found;
  };
  const counts = (): Readonly<Record<string, number>> => {
    const now = byAddress();
    return Object.fromEntries(
      [...names].map(([address, name]) => [name, (now.get(address) ?? 0) - (before.get(address) ?? 0)]),
    );
  };
  const fewest = (): number => Math.min(...Object.values(counts()));
  return {
    async begin() {
      for (const name of mesh.workloads.keys()) names.set((await mesh.pod(name)).address, name);
      before = byAddress();
    },
    counts,
    fewest,
    async until(count) {
      while (fewest() < count) await sleep(lookMs);
    },
  };
}
