/** Flags and environment in; how to reach the Kubernetes API out. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type ClusterAccess, inClusterAccess, loadKubeconfig } from "../kube/index.ts";
import { FairleadError } from "../lib/index.ts";
import type { Io } from "./command.ts";
import { defaultDataDir } from "./up/data-dir.ts";

export interface AccessFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
}

/** As kubectl looks: the flag, KUBECONFIG, ~/.kube/config; inside a cluster its service account; last the standalone mesh of this user. */
export async function clusterAccess(flags: AccessFlags, io: Io): Promise<ClusterAccess> {
  const candidates =
    flags.kubeconfig !== undefined
      ? [flags.kubeconfig]
      : (io.env.KUBECONFIG?.split(":").filter((path) => path !== "") ?? []);
  if (candidates.length > 0) return loadKubeconfig({ paths: candidates, context: flags.context, env: io.env });
  const inside = inClusterAccess(io.env);
  if (inside) return inside;
  const defaults = [join(defaultDataDir(io.env), "kubeconfig"), join(io.env.HOME ?? "", ".kube/config")].filter(
    (path) => existsSync(path),
  );
  const [found] = defaults;
  if (!found)
    throw new FairleadError("not-found", "no Kubernetes API to talk to", {
      hint: "start one with `fairlead up`, or name a kubeconfig with --kubeconfig FILE or KUBECONFIG",
    });
  return loadKubeconfig({ paths: [found], context: flags.context, env: io.env });
}
