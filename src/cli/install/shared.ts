/** What install, upgrade, uninstall and tag have in common: flags, the API, and applying an installation. */
import type { Command } from "commander";
import { createKubeClient, type KubeClient } from "../../kube/index.ts";
import { FairleadError, parseDurationMs } from "../../lib/index.ts";
import { type InstallAccessFlags, installAccess } from "../cluster-access.ts";
import type { Io } from "../command.ts";
import { applyInstallation } from "./apply.ts";
import { readInstallation, type ValueFlags, valueOptions } from "./installation.ts";
import { readWish } from "./wish.ts";

export interface InstallFlags extends ValueFlags, InstallAccessFlags {
  readonly inPlace?: boolean;
  readonly readinessTimeout: string;
  readonly wait: boolean;
}

export function accessOptions(command: Command): Command {
  return command
    .option("--kubeconfig <file>", "how to reach the API")
    .option("--context <name>", "context of the kubeconfig")
    .option("--standalone", "the standalone mesh of `fairlead up`, which is not meant otherwise");
}

export function applyOptions(command: Command): Command {
  return accessOptions(valueOptions(command))
    .option("--readiness-timeout <duration>", "how long to wait for the control plane", "5m")
    .option("--no-wait", "do not wait for it")
    .option("-y, --skip-confirmation", "accepted for istioctl's sake: nothing is asked");
}

export async function install(flags: InstallFlags, io: Io, upgrades: boolean): Promise<number> {
  const readinessTimeoutMs = flags.wait ? parseDurationMs(flags.readinessTimeout) : 0;
  if (readinessTimeoutMs === undefined)
    throw new FairleadError("usage", `--readiness-timeout: ${flags.readinessTimeout} is not a duration`);
  return withClient(flags, io, async (client) => {
    const [namespace, revision] = [flags.istioNamespace ?? "istio-system", flags.revision || "default"];
    const before = upgrades ? await readWish(client, namespace, revision) : undefined;
    if (upgrades && !before)
      throw new FairleadError("not-found", `nothing is installed in ${namespace} as revision ${revision}`, {
        hint: "fairlead install puts it there",
      });
    await applyInstallation(await readInstallation(flags, io, before), {
      client,
      inPlace: flags.inPlace ?? false,
      readinessTimeoutMs,
      say: (text) => io.err(`${text}\n`),
      signal: io.signal,
    });
    return 0;
  });
}

export async function withClient(
  flags: InstallAccessFlags,
  io: Io,
  work: (client: KubeClient) => Promise<number>,
): Promise<number> {
  const client = createKubeClient(await installAccess(flags, io));
  try {
    return await work(client);
  } finally {
    client.close();
  }
}
