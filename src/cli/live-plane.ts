/** The API that is meant, and a question, in; what its running control plane answers out, or nothing where none can be asked. */
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { type ErrorCode, FairleadError } from "../lib/index.ts";
import type { AccessFlags } from "./cluster-access.ts";
import type { Io } from "./command.ts";
import { askDebug } from "./debug-client.ts";
import { planesOfCluster } from "./planes.ts";
import type { AskDebug } from "./pod-debug.ts";
import { addressesFile } from "./up/bound-addresses.ts";
import { defaultDataDir } from "./up/data-dir.ts";

export interface LiveFlags extends AccessFlags {
  /** `host:port` of a control plane's monitoring port. */
  readonly address?: string;
  readonly istioNamespace: string;
}

/** One that was named has to answer; of any other, what it has can be worked out from its objects instead. */
export async function askLivePlane(flags: LiveFlags, path: string, question: object, io: Io): Promise<unknown> {
  const body = JSON.stringify(question);
  if (flags.address !== undefined) return askDebug({ address: flags.address }, path, io, body);
  const unless = (codes: readonly ErrorCode[]) => (error: unknown) => {
    if (!io.signal.aborted && error instanceof FairleadError && codes.includes(error.code)) return undefined;
    throw error;
  };
  // An API that does not answer would not either when it is asked for its objects.
  const plane = await findPlane(flags, io).catch(unless(["not-found", "forbidden"]));
  // It does not answer, or it is an istiod, which does not know the path; or it may not be asked.
  return plane?.(path, body).catch(unless(["not-found", "unavailable", "forbidden", "unauthenticated"]));
}

/** As `clusterAccess` looks for an API: a standalone mesh's is known by its folder, where the way is short. */
async function findPlane(flags: LiveFlags, io: Io): Promise<AskDebug> {
  const exported = (io.env.KUBECONFIG ?? "").split(":").filter((path) => path !== "");
  const files = flags.kubeconfig === undefined ? exported : [flags.kubeconfig];
  const isInCluster = files.length === 0 && io.env.KUBERNETES_SERVICE_HOST !== undefined;
  const [first] = files;
  const data = first === undefined ? defaultDataDir(io.env) : dirname(first);
  if (flags.context === undefined && !isInCluster && existsSync(addressesFile(data)))
    return (path, body) => askDebug({ data }, path, io, body);
  const [plane] = await planesOfCluster(flags, io);
  if (!plane) throw new FairleadError("not-found", "no control plane runs there");
  return plane.ask;
}
