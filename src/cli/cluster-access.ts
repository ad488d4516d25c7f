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

/** As kubectl looks: the flag, KUBECONFIG; inside a cluster its service account; last the standalone mesh of this user, ~/.kube/config. */
export async function clusterAccess(flags: AccessFlags, io: Io): Promise<ClusterAccess> {
  const named = await namedAccess(flags, io);
  if (named) return named;
  const [found] = [standaloneFile(io), homeFile(io)].filter((path) => existsSync(path));
  if (!found)
    throw new FairleadError("not-found", "no Kubernetes API to talk to", {
      hint: "start one with `fairlead up`, or name a kubeconfig with --kubeconfig FILE or KUBECONFIG",
    });
  return load([found], flags, io);
}

export interface InstallAccessFlags extends AccessFlags {
  readonly standalone?: boolean;
}

/** For what changes a whole cluster: a standalone mesh, which has its control plane, is meant only where it is named. */
export async function installAccess(flags: InstallAccessFlags, io: Io): Promise<ClusterAccess> {
  const [standalone, home] = [standaloneFile(io), homeFile(io)];
  const named = flags.standalone === true ? undefined : await namedAccess(flags, io);
  const found = flags.standalone === true ? standalone : home;
  if (!named && !existsSync(found)) throw noCluster(flags, existsSync(standalone));
  const access = named ?? (await load([found], flags, io));
  io.err(`at ${access.server}${named ? "" : ` (${found})`}\n`);
  return access;
}

function noCluster(flags: InstallAccessFlags, hasStandalone: boolean): FairleadError {
  if (flags.standalone === true)
    return new FairleadError("not-found", "there is no standalone mesh", { hint: "fairlead up starts one" });
  const name = "name a cluster with --kubeconfig FILE or KUBECONFIG";
  if (!hasStandalone) return new FairleadError("not-found", "no Kubernetes cluster to talk to", { hint: name });
  return new FairleadError("usage", "there is a standalone mesh here, which has its control plane, and no cluster", {
    hint: `${name}; --standalone means the standalone mesh`,
  });
}

/** What the user or the Pod names; undefined where nothing does. */
async function namedAccess(flags: AccessFlags, io: Io): Promise<ClusterAccess | undefined> {
  const files =
    flags.kubeconfig !== undefined
      ? [flags.kubeconfig]
      : (io.env.KUBECONFIG?.split(":").filter((path) => path !== "") ?? []);
  if (files.length > 0) return load(files, flags, io);
  const usual = [homeFile(io), standaloneFile(io)].filter((path) => existsSync(path));
  // A context is a name, wherever it stands.
  if (flags.context !== undefined && usual.length > 0) return load(usual, flags, io);
  return inClusterAccess(io.env);
}

/** People wait for it. */
const patienceMs = 5_000;

const load = async (paths: readonly string[], flags: AccessFlags, io: Io): Promise<ClusterAccess> => ({
  ...(await loadKubeconfig({ paths, context: flags.context, env: io.env })),
  patienceMs,
});

const standaloneFile = (io: Io): string => join(defaultDataDir(io.env), "kubeconfig");
const homeFile = (io: Io): string => join(io.env.HOME ?? "", ".kube/config");
