/** A data folder in; its mesh network, made or taken over from an earlier `up`, and the file that tells `run` of it, out. */
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { FairleadError, isRecord, type Logger, parseJson } from "../../lib/index.ts";
import {
  createMeshNetwork,
  livingOwners,
  type NetworkPlan,
  openSharedJournal,
  openWayOut,
} from "../../standalone/index.ts";
import type { DataDir } from "./data-dir.ts";

export interface MeshNetwork {
  readonly address: string;
  /** `host:port` of the control plane as Pods reach it. */
  readonly discoveryAddress: string;
  /** Whether Pods reach addresses outside. */
  readonly hasWayOut: boolean;
}

export interface NetworkFile {
  readonly plan: NetworkPlan;
  /** Undefined where `up` could not make a network. */
  readonly discoveryAddress: string | undefined;
}

export interface MeshNetworkOptions {
  readonly data: DataDir;
  readonly plan: NetworkPlan;
  /** Without it a network that cannot be made is only said. */
  readonly isNeeded: boolean;
  readonly outside: boolean;
  readonly log: Logger;
}

/** The port that agents expect the control plane at. */
const discoveryPort = 15012;
const fileName = "run/network.json";

/** Undefined where this machine or user cannot have network namespaces: the bare mesh needs none. */
export async function openMeshNetwork(options: MeshNetworkOptions): Promise<MeshNetwork | undefined> {
  const { data, plan } = options;
  const before = readNetworkFile(data.path);
  refuseOtherPlan(data.path, before?.plan, plan);
  const address = await makeNetwork(options);
  const discoveryAddress = address && `${address}:${await choosePort(address, before?.discoveryAddress)}`;
  const file: NetworkFile = { plan, discoveryAddress };
  data.write(fileName, `${JSON.stringify(file, null, 2)}\n`);
  if (!address || !discoveryAddress) return undefined;
  return { address, discoveryAddress, hasWayOut: options.outside && (await hasWayOut(options)) };
}

async function makeNetwork(options: MeshNetworkOptions): Promise<string | undefined> {
  try {
    const journal = openSharedJournal(join(options.data.path, "run"));
    return (await createMeshNetwork(options.plan, journal)).hostAddress;
  } catch (thrown) {
    const error = FairleadError.from(thrown);
    if (options.isNeeded || error.code === "conflict") throw error;
    options.log.info(`no mesh network (${error.message}); \`fairlead run\` needs one: start \`up\` with sudo`);
    return undefined;
  }
}

/** A mesh without is a mesh all the same. */
async function hasWayOut({ data, plan, log }: MeshNetworkOptions): Promise<boolean> {
  const missing = await openWayOut(plan, openSharedJournal(join(data.path, "run"))).catch(
    (error: unknown) => FairleadError.from(error).message,
  );
  if (missing === undefined)
    log.info("Pods reach outside through this machine, which forwards and masquerades for them");
  else log.info(`Pods do not reach what is outside the mesh: ${missing}`);
  return missing === undefined;
}

/** Whoever joined an earlier `up` has its addresses. */
function refuseOtherPlan(dir: string, before: NetworkPlan | undefined, plan: NetworkPlan): void {
  const others = livingOwners(join(dir, "run")).filter(({ pid }) => pid !== process.pid);
  if (!before || others.length === 0 || before.podCidr === plan.podCidr) return;
  const pids = others.map(({ pid }) => pid).join(", ");
  throw new FairleadError("conflict", `process ${pids} of \`fairlead run\` still uses the network ${before.podCidr}`, {
    hint: `stop it, or start with --pod-cidr ${before.podCidr} --service-cidr ${before.serviceCidr}`,
  });
}

/** The same as before where possible: agents of an earlier `up` come back to it. */
async function choosePort(host: string, before: string | undefined): Promise<number> {
  const old = before?.startsWith(`${host}:`) ? Number(before.slice(host.length + 1)) : discoveryPort;
  for (const port of [old, discoveryPort]) if ((await tryBind(host, port)) !== undefined) return port;
  return (await tryBind(host, 0)) ?? discoveryPort;
}

function tryBind(host: string, port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(undefined));
    server.listen(port, host, () => {
      const bound = server.address();
      server.close(() => resolve(typeof bound === "object" && bound ? bound.port : undefined));
    });
  });
}

/** Undefined where no `up` has run on this folder. */
export function readNetworkFile(dir: string): NetworkFile | undefined {
  try {
    const value = parseJson(readFileSync(join(dir, fileName), "utf8"));
    if (!isRecord(value) || !isRecord(value.plan)) return undefined;
    const { discoveryAddress } = value;
    // Written above from the same type.
    return {
      plan: value.plan as unknown as NetworkPlan,
      discoveryAddress: typeof discoveryAddress === "string" ? discoveryAddress : undefined,
    };
  } catch {
    return undefined;
  }
}
