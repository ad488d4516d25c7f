/** The processes of a Pod's containers in; what each container uses now, as a kubelet would tell a metrics server, out. */
import { createRateMeter } from "../../lib/index.ts";
import { memoryBytes, processorSeconds } from "./process-table.ts";

export interface PodUsage {
  /** How long it was looked at. */
  readonly windowMs: number;
  readonly containers: readonly ContainerUsage[];
}

export interface ContainerUsage {
  readonly name: string;
  /** Of a second, each second; two where it keeps two processors busy. */
  readonly processors: number;
  readonly memoryBytes: number;
}

export type ContainerProcesses = () => ReadonlyMap<string, readonly number[]>;

export function createUsage(processes: ContainerProcesses): () => Promise<PodUsage> {
  const meter = createRateMeter({
    monotonicMs: () => performance.now(),
    read: () => new Map([...processes()].map(([name, pids]) => [name, processorSeconds(pids)])),
  });
  return async () => {
    const { windowMs, perSecond } = await meter.rates();
    const running = [...processes()].filter(([, pids]) => pids.length > 0);
    const containers = running.flatMap(([name, pids]) => {
      const processors = perSecond.get(name);
      return processors === undefined ? [] : [{ name, processors, memoryBytes: memoryBytes(pids) }];
    });
    return { windowMs, containers };
  };
}
