/** Flags that say which control planes, and a time, in; what they know of requests, as one, out. */
import { FairleadError, parseDurationMs } from "../../lib/index.ts";
import { mergeSnapshots, parseSnapshot, type TrafficSnapshot } from "../../traffic/index.ts";
import type { Io } from "../command.ts";
import { askDebug, type DebugFlags } from "../debug-client.ts";

export interface PlaneFlags {
  readonly data?: string;
  /** One for each replica. */
  readonly address: readonly string[];
}

/** For an option that may be given several times. */
export const collect = (value: string, all: readonly string[]): readonly string[] => [...all, value];

export function planesOf({ data, address }: PlaneFlags): readonly DebugFlags[] {
  if (address.length > 0) return address.map((one) => ({ address: one }));
  return [data === undefined ? {} : { data }];
}

export async function askTraffic(
  flags: PlaneFlags & { readonly timeWindow: string },
  io: Io,
): Promise<TrafficSnapshot> {
  const ms = parseDurationMs(flags.timeWindow);
  if (ms === undefined || ms < 10_000 || ms > 3_600_000)
    throw new FairleadError("usage", `--time-window ${flags.timeWindow} is no time between 10s and 1h`, {
      hint: "write it as 1m",
    });
  const path = `trafficz?last=${ms}ms`;
  const answers = await Promise.all(
    planesOf(flags).map(async (plane) => parseSnapshot(await askDebug(plane, path, io))),
  );
  const [first, ...others] = answers;
  if (!first) throw new FairleadError("usage", "no control plane is named");
  return mergeSnapshots(first, ...others);
}
