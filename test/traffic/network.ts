/**
 * Nothing in; a network for one test run out: a namespace per proxy behind a router, and addresses on this machine for the
 * servers that the test itself plays. All of it is written down first, so that a killed run is cleaned up by the next.
 */
import { randomBytes } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ownerOf, silentLogger } from "../../src/lib/index.ts";
import {
  createMeshNetwork,
  endJournal,
  type Journal,
  type NetworkPlan,
  openJournal,
  planNetwork,
  removeLeftovers,
} from "../../src/standalone/index.ts";
import { ip } from "../../src/standalone/network/ip.ts";
import { routerNamespace } from "../../src/standalone/network/mesh-network.ts";
import { createPodNetwork, type PodNetwork } from "../../src/standalone/network/pod-network.ts";

export interface TrafficNetwork {
  readonly journal: Journal;
  /** An address on this machine that every namespace reaches. */
  hostAddress(): Promise<string>;
  /** This machine answers to that address too. */
  own(address: string): Promise<void>;
  /** A namespace of its own, with an address. */
  pod(): Promise<PodNetwork & { readonly address: string }>;
  /** An address that nobody has: only capture makes sense of it. */
  serviceAddress(): string;
  remove(): Promise<void>;
}

export async function createTrafficNetwork(): Promise<TrafficNetwork> {
  const owner = ownerOf(process.pid);
  if (!owner) throw new Error("this process has no entry in /proc");
  const runDir = join(tmpdir(), "fairlead-traffic");
  await removeLeftovers(runDir, silentLogger);
  const id = randomBytes(2).toString("hex");
  const journal = openJournal(runDir, `run-${id}`, owner);
  const plan = await makeNetwork(id, journal);
  const base = plan.hostAddress.split(".").slice(0, 2).join(".");
  let hosts = 1;
  let pods = 0;
  let services = 0;
  const own = async (address: string): Promise<void> => {
    await ip("addr", "replace", `${address}/32`, "dev", `${plan.prefix}h`);
    // The router takes addresses of the range for those of Pods, which would be unreachable.
    await ip("-n", routerNamespace(plan), "route", "replace", `${address}/32`, "dev", "host");
  };
  return {
    journal,
    own,
    async hostAddress() {
      const address = `${base}.1.${++hosts}`;
      await own(address);
      return address;
    },
    async pod() {
      const address = `${base}.${2 + Math.floor(++pods / 250)}.${1 + (pods % 250)}`;
      return { ...(await createPodNetwork(plan, journal, { id: `pod${pods}`, address })), address };
    },
    serviceAddress: () => `${plan.serviceCidr.split(".").slice(0, 2).join(".")}.0.${++services}`,
    remove: () => endJournal(journal),
  };
}

/** Another run on this machine may have taken the ranges: then others are tried. */
async function makeNetwork(id: string, journal: Journal): Promise<NetworkPlan> {
  const first = 20 + (Number.parseInt(id, 16) % 50) * 2;
  for (let attempt = 0; ; attempt++) {
    const slot = 20 + ((first - 20 + attempt * 2) % 100);
    const ranges = { podCidr: `10.${slot}.0.0/16`, serviceCidr: `10.${slot + 1}.0.0/16` };
    const plan = { ...planNetwork({ dataDir: id, ...ranges }), prefix: `flt${id}` };
    try {
      await createMeshNetwork(plan, journal);
      return plan;
    } catch (error) {
      if (attempt > 5) throw error;
    }
  }
}
