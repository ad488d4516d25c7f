/** A running standalone mesh in; answers of its control plane's debug paths out. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { FairleadError, fileLimits, isRecord, parseJson } from "../lib/index.ts";
import type { Io } from "./command.ts";
import { meshDataDir } from "./mesh-data-dir.ts";

export interface DebugFlags {
  /** Data folder of a running `fairlead up`. */
  readonly data?: string;
  /** `host:port` of a control plane's monitoring port, such as a port-forward to 15014. */
  readonly address?: string;
}

export async function askDebug(flags: DebugFlags, path: string, io: Io): Promise<unknown> {
  const address = flags.address ?? monitoringAddress(meshDataDir(flags, io));
  const url = `http://${address}/debug/${path}`;
  let answer: Response;
  try {
    answer = await fetch(url, { signal: AbortSignal.any([io.signal, AbortSignal.timeout(5_000)]) });
  } catch (cause) {
    throw new FairleadError("unavailable", `the control plane at ${address} does not answer`, {
      hint: "is it running? `fairlead up` says where",
      cause,
    });
  }
  const text = await answer.text();
  if (!answer.ok) throw new FairleadError(answer.status === 404 ? "not-found" : "forbidden", text.trim());
  return parseJson(text, fileLimits);
}

function monitoringAddress(dir: string): string {
  const file = join(dir, "addresses.json");
  if (!existsSync(file))
    throw new FairleadError("not-found", `no standalone mesh runs on ${dir}`, {
      hint: "name its folder with --data DIR, or the monitoring port of a control plane with --address HOST:PORT",
    });
  const addresses = parseJson(readFileSync(file, "utf8"));
  const monitoring = isRecord(addresses) ? addresses["monitoring"] : undefined;
  if (typeof monitoring !== "string")
    throw new FairleadError("invalid", `${file} names no monitoring address`, { hint: "start `fairlead up` again" });
  return monitoring;
}
