/** Nodes in; what this machine uses, where one of them is this machine, out. */
import { readFileSync } from "node:fs";
import { cpus, freemem, totalmem } from "node:os";
import { createRateMeter, type RateMeter } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";
import { textAt } from "../access.ts";
import { nodeMetricsKind } from "./kinds.ts";
import { measured } from "./measured.ts";
import { usageOf } from "./quantity.ts";

/** Seconds that all processors together were busy. */
export const machineMeter = (): RateMeter =>
  createRateMeter({
    monotonicMs: () => performance.now(),
    read: () =>
      new Map([["busy", cpus().reduce((sum, { times: t }) => sum + t.user + t.nice + t.sys + t.irq, 0) / 1000]]),
  });

export async function nodeMetrics(
  meter: RateMeter,
  nodes: readonly KubeObject[],
  now: () => Date,
): Promise<readonly KubeObject[]> {
  const here = nodes.filter(isThisMachine);
  if (here.length === 0) return [];
  const { windowMs, perSecond } = await meter.rates();
  const usage = usageOf(perSecond.get("busy") ?? 0, usedMemory());
  return here.map((node) => ({ ...measured(nodeMetricsKind, node, now(), windowMs), usage }));
}

/** Whoever keeps this machine's Node says so there; others may have been made by anybody. */
const isThisMachine = (node: KubeObject): boolean =>
  textAt(node, "status", "nodeInfo", "containerRuntimeVersion").startsWith("fairlead://");

/** Without what the kernel would give back at once. */
function usedMemory(): number {
  try {
    const available = /^MemAvailable:\s+(\d+) kB/m.exec(readFileSync("/proc/meminfo", "utf8"))?.[1];
    if (available !== undefined) return totalmem() - Number(available) * 1024;
  } catch {
    // Another system than Linux.
  }
  return totalmem() - freemem();
}
