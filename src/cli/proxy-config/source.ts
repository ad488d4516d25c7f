/** A file, or the name of a Pod, in; where its Envoy's dumps come from out. */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createKubeClient, type KubeClient } from "../../kube/index.ts";
import { FairleadError, systemCode } from "../../lib/index.ts";
import { parsePodName } from "../../model/index.ts";
import { type AccessFlags, clusterAccess } from "../cluster-access.ts";
import type { Io } from "../command.ts";
import { meshDataDir } from "../mesh-data-dir.ts";
import { askPlaneOf, type PlaneFlags } from "../planes.ts";
import { type AskAdmin, reachEnvoy } from "./envoy-admin.ts";
import { clustersOfDump } from "./planned-endpoints.ts";
import { findPods, type PodRef, selectPods } from "./pod.ts";

export interface SourceFlags {
  readonly file?: string;
  readonly data?: string;
  readonly controlPlane?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string;
  readonly proxyAdminPort?: number;
}

export interface DumpSource {
  /** The Pod whose Envoy it is, where it is one's. */
  readonly pod?: PodRef;
  /** Envoy's /config_dump; `query` narrows it where Envoy itself is asked. */
  configDump(query: string): Promise<string>;
  /** Envoy's /clusters?format=json. */
  clusters(): Promise<string>;
}

export interface PodSource extends DumpSource {
  readonly pod: PodRef;
}

export function fileSource(file: string, io: Io): DumpSource {
  const read = async (): Promise<string> => readDumpFile(file, io);
  return { configDump: read, clusters: read };
}

function readDumpFile(file: string, io: Io): string {
  try {
    return readFileSync(file === "-" ? 0 : resolve(io.cwd, file), "utf8");
  } catch (cause) {
    const code = systemCode(cause) ?? "";
    const [verb, why] = fileMistakes.get(code) ?? ["read", cause instanceof Error ? cause.message : String(cause)];
    throw new FairleadError("not-found", `${verb} ${file}: ${why}`, { cause });
  }
}

const fileMistakes: ReadonlyMap<string, readonly [string, string]> = new Map([
  ["ENOENT", ["open", "no such file or directory"]],
  ["EACCES", ["open", "permission denied"]],
  ["ENOTDIR", ["open", "not a directory"]],
  ["EISDIR", ["read", "is a directory"]],
]);

/** One Pod: the first where several are meant. */
export async function podSource(target: string, flags: SourceFlags, io: Io): Promise<PodSource> {
  const [pod] = await podsMeant(target, flags, io);
  if (!pod) throw new FairleadError("not-found", `no pods match "${target}"`);
  const reached = reach(pod, flags, io);
  if ("ask" in reached)
    return {
      pod,
      configDump: (query) => reached.ask("GET", `config_dump${query}`),
      clusters: () => reached.ask("GET", "clusters?format=json"),
    };
  const planned = (): Promise<unknown> => plannedDump(pod, reached.why, flags, io);
  return {
    pod,
    configDump: async () => JSON.stringify(await planned(), null, 1),
    clusters: async () => JSON.stringify(clustersOfDump(await planned())),
  };
}

/** What the control plane would send; said so, since it is not what was asked for. */
async function plannedDump(pod: PodRef, why: string, flags: SourceFlags, io: Io): Promise<unknown> {
  const name = `${pod.name}.${pod.namespace}`;
  try {
    const dump = await askPlaneOf(planeOf(flags), name, "config_dump?include_eds", io);
    io.err(`fairlead: ${why}: this is what the control plane would send, not what Envoy has\n`);
    return dump;
  } catch (cause) {
    const { code, message, hint } = FairleadError.from(cause);
    throw new FairleadError(code, `${why}, and the control plane cannot say what it would send: ${message}`, {
      ...(hint === undefined ? {} : { hint }),
      cause,
    });
  }
}

/** For what only Envoy itself can answer. */
export async function podAdmins(
  target: string | { readonly selector: string },
  flags: SourceFlags,
  io: Io,
): Promise<readonly { readonly pod: PodRef; readonly ask: AskAdmin }[]> {
  return (await podsMeant(target, flags, io)).map((pod) => {
    const reached = reach(pod, flags, io);
    if ("why" in reached)
      throw new FairleadError("unavailable", `Envoy of ${pod.namespace}/${pod.name} cannot be asked: ${reached.why}`, {
        hint: "run the command as root on the machine of the standalone mesh, with its folder as --data DIR",
      });
    return { pod, ask: reached.ask };
  });
}

/** The control plane that the proxies are connected to. */
export function planeOf({ controlPlane, ...flags }: SourceFlags): PlaneFlags {
  return { ...flags, ...(controlPlane === undefined ? {} : { address: controlPlane }), istioNamespace: "istio-system" };
}

function reach(pod: PodRef, flags: SourceFlags, io: Io): ReturnType<typeof reachEnvoy> {
  return reachEnvoy(meshDataDir(flags, io), pod, flags.proxyAdminPort ?? 15000, io.signal);
}

async function podsMeant(
  target: string | { readonly selector: string },
  flags: SourceFlags,
  io: Io,
): Promise<readonly PodRef[]> {
  const namespace = flags.namespace ?? "default";
  if (typeof target !== "string")
    return withClient(flags, io, (client) => selectPods(client, namespace, target.selector));
  const wanted = parsePodName(target, namespace);
  try {
    return await withClient(flags, io, (client) => findPods(client, wanted));
  } catch (error) {
    // Without an API a plain name is still good enough for the control plane.
    if (wanted.type === "" && flags.controlPlane !== undefined) return [wanted];
    throw error;
  }
}

/** How the API of the Pod is reached: what was named, or the folder of the standalone mesh. */
export function accessOf(flags: SourceFlags): AccessFlags {
  const kubeconfig = flags.kubeconfig ?? (flags.data === undefined ? undefined : join(flags.data, "kubeconfig"));
  return {
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ...(flags.context === undefined ? {} : { context: flags.context }),
  };
}

async function withClient<T>(flags: SourceFlags, io: Io, use: (client: KubeClient) => Promise<T>): Promise<T> {
  const access = await clusterAccess(accessOf(flags), io);
  const client = createKubeClient(access);
  try {
    return await use(client);
  } finally {
    client.close();
  }
}
