/** Flags and environment in; what the control planes that are meant answer on a debug path out: a standalone mesh's, or all of a cluster. */

import { hostname } from "node:os";
import { createKubeClient, kubeKinds } from "../kube/index.ts";
import { FairleadError, readRecord } from "../lib/index.ts";
import { type AccessFlags, clusterAccess } from "./cluster-access.ts";
import type { Io } from "./command.ts";
import { askDebug, type DebugFlags } from "./debug-client.ts";
import { standaloneDir } from "./mesh-data-dir.ts";
import { type AskDebug, debugOfPod } from "./pod-debug.ts";

export interface ClusterFlags extends AccessFlags {
  readonly istioNamespace: string;
}

export interface PlaneFlags extends DebugFlags, ClusterFlags {}

export interface PlaneAnswer {
  /** The host, or the Pod, of the control plane. */
  readonly at: string;
  readonly answer: unknown;
}

/** One that can be asked, again and again. */
export interface Plane {
  readonly at: string;
  readonly ask: AskDebug;
}

export async function askPlanes(flags: PlaneFlags, path: string, io: Io): Promise<readonly PlaneAnswer[]> {
  const planes = await openPlanes(flags, io);
  return Promise.all(planes.map(async ({ at, ask }) => ({ at, answer: await ask(path) })));
}

/** Of one proxy, whose control plane is one of those that are meant. */
export async function askPlaneOf(flags: PlaneFlags, proxy: string, path: string, io: Io): Promise<unknown> {
  const planes = await openPlanes(flags, io);
  const asked = `${path}${path.includes("?") ? "&" : "?"}proxyID=${encodeURIComponent(proxy)}`;
  const answers = await Promise.allSettled(planes.map(({ ask }) => ask(asked)));
  const found = answers.find((answer) => answer.status === "fulfilled");
  if (found) return found.value;
  throw answers.find((answer) => answer.status === "rejected")?.reason;
}

/** What was named wins; then whose API kubectl would talk to: a standalone mesh's, where the way is short, or a cluster's. */
export async function openPlanes(flags: PlaneFlags, io: Io): Promise<readonly Plane[]> {
  const data = standaloneDir(flags, io);
  if (flags.address === undefined && data === undefined) return planesOfCluster(flags, io);
  const meant = { ...(data === undefined ? {} : { data }), ...given(flags.address) };
  return [{ at: hostname(), ask: (path, body) => askDebug(meant, path, io, body) }];
}

const given = (address: string | undefined): { readonly address?: string } =>
  address === undefined ? {} : { address };

/** Through the API, as `kubectl port-forward` goes. */
async function planesOfCluster(flags: ClusterFlags, io: Io): Promise<readonly Plane[]> {
  const access = await clusterAccess(flags, io);
  const client = createKubeClient(access);
  try {
    const { items } = await client.list(kubeKinds.pods, {
      namespace: flags.istioNamespace,
      labelSelector: "app=istiod",
      signal: io.signal,
    });
    const running = items.filter(({ status }) => readRecord(status).phase === "Running");
    if (running.length === 0)
      throw new FairleadError(
        "not-found",
        `no control plane runs in namespace ${flags.istioNamespace} of ${access.server}`,
        {
          hint: "a Pod with label app=istiod is looked for; -i names another namespace, --address a control plane elsewhere",
        },
      );
    return running.map(({ metadata: { name } }) => ({
      at: name,
      ask: debugOfPod(access, { name, namespace: flags.istioNamespace }, io.signal),
    }));
  } finally {
    client.close();
  }
}
