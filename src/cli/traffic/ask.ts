/** Flags that say which control planes, and a time, in; what they know of requests, as one, out. */
import type { Command } from "commander";
import { FairleadError, parseDurationMs } from "../../lib/index.ts";
import { mergeSnapshots, parseSnapshot, type TrafficSnapshot } from "../../traffic/index.ts";
import { collect, type Io } from "../command.ts";
import { askDebug } from "../debug-client.ts";
import { openPlanes, type PlaneFlags } from "../planes.ts";
import type { AskDebug } from "../pod-debug.ts";

/** Which control planes are asked. */
export interface AskedFlags extends Omit<PlaneFlags, "address"> {
  /** One for each replica. */
  readonly address: readonly string[];
}

export function withPlaneOptions(command: Command): Command {
  return command
    .option("--data <dir>", "data folder of the running `fairlead up`")
    .option("--address <addr>", "monitoring port of a control plane; for each replica", collect, [])
    .option("--kubeconfig <file>", "how to reach the API of a cluster")
    .option("--context <name>", "context of the kubeconfig")
    .option("-i, --istioNamespace <namespace>", "where the control plane is", "istio-system");
}

/** A cluster's are reached through its API. */
export async function planesOf({ address, ...flags }: AskedFlags, io: Io): Promise<readonly AskDebug[]> {
  if (address.length > 0) return address.map((one) => (path, body) => askDebug({ address: one }, path, io, body));
  return (await openPlanes(flags, io)).map(({ ask }) => ask);
}

export async function askTraffic(
  flags: AskedFlags & { readonly timeWindow: string },
  io: Io,
): Promise<TrafficSnapshot> {
  const ms = parseDurationMs(flags.timeWindow);
  if (ms === undefined || ms < 10_000 || ms > 3_600_000)
    throw new FairleadError("usage", `--time-window ${flags.timeWindow} is no time between 10s and 1h`, {
      hint: "write it as 1m",
    });
  const path = `trafficz?last=${ms}ms`;
  const asked = await planesOf(flags, io);
  const answers = await Promise.all(asked.map(async (ask) => parseSnapshot(await ask(path))));
  const [first, ...others] = answers;
  if (!first) throw new FairleadError("usage", "no control plane is named");
  return mergeSnapshots(first, ...others);
}
