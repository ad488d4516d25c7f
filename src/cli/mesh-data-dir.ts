/** Flags and environment in; the data folder of the standalone mesh that is meant out. */

import { existsSync } from "node:fs";
import { dirname } from "node:path";
import type { AccessFlags } from "./cluster-access.ts";
import type { Io } from "./command.ts";
import { addressesFile } from "./up/bound-addresses.ts";
import { defaultDataDir } from "./up/data-dir.ts";

/** An exported KUBECONFIG of a standalone mesh lies in its data folder, and names that mesh. */
export function meshDataDir(flags: { readonly data?: string }, io: Io): string {
  if (flags.data !== undefined) return flags.data;
  const exported = (io.env["KUBECONFIG"] ?? "").split(":").filter((path) => path !== "");
  const folders = exported.map((path) => dirname(path));
  return folders.find((dir) => existsSync(addressesFile(dir))) ?? defaultDataDir(io.env);
}

/** As `clusterAccess` looks for an API: that of a standalone mesh that runs is known by the folder of its kubeconfig. */
export function standaloneDir(flags: AccessFlags & { readonly data?: string }, io: Io): string | undefined {
  if (flags.data !== undefined) return flags.data;
  const exported = (io.env.KUBECONFIG ?? "").split(":").filter((path) => path !== "");
  const [file] = flags.kubeconfig === undefined ? exported : [flags.kubeconfig];
  const isInCluster = file === undefined && io.env.KUBERNETES_SERVICE_HOST !== undefined;
  if (flags.context !== undefined || isInCluster) return undefined;
  const dir = file === undefined ? defaultDataDir(io.env) : dirname(file);
  return existsSync(addressesFile(dir)) ? dir : undefined;
}
