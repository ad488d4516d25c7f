/**
 * The mesh network on one machine: a bridge in a namespace of its own, one veth to the host, and a namespace per Pod.
 * The host gets no iptables rule, no forwarding and no masquerade: all of it is one link.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { FairleadError } from "../lib/index.ts";
import type { Journal, Leftover } from "./journal.ts";
import { type NetworkPlan, overlap, parseCidr } from "./plan.ts";

const run = promisify(execFile);

export interface PodNetwork {
  /** Name for `ip netns`. */
  readonly namespace: string;
  /** Path to enter it by. */
  readonly path: string;
  remove(): Promise<void>;
}

export interface MeshNetwork {
  readonly hostAddress: string;
  remove(): Promise<void>;
}

/** Runs `ip`; a refusal becomes an error that says what is missing. */
export async function ip(...args: readonly string[]): Promise<string> {
  try {
    const { stdout } = await run("ip", [...args], { maxBuffer: 16 * 1024 * 1024 });
    return stdout;
  } catch (cause) {
    const text = cause instanceof Error && "stderr" in cause ? String(cause.stderr).trim() : String(cause);
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT")
      throw new FairleadError("missing-tool", "the `ip` command is missing", { hint: "install iproute2", cause });
    if (/Operation not permitted|Permission denied/.test(text))
      throw new FairleadError("no-permission", `ip ${args.join(" ")}: ${text}`, {
        hint: "network namespaces need root: run the same command with sudo",
        cause,
      });
    throw new FairleadError("internal", `ip ${args.join(" ")}: ${text}`, { cause });
  }
}

/** Refuses ranges that the host already routes elsewhere; the default route does not count. */
async function checkRoutes(plan: NetworkPlan): Promise<void> {
  const routes: { dst?: string; dev?: string }[] = JSON.parse(await ip("-j", "-4", "route", "show", "table", "all"));
  for (const cidr of [plan.podCidr, plan.serviceCidr]) {
    const wanted = parseCidr(cidr, "range");
    const clash = routes.find(({ dst, dev }) => {
      if (!dst || dst === "default" || dev === `${plan.prefix}h` || !/^\d+\./.test(dst)) return false;
      const [address = "", length = "32"] = dst.split("/");
      return overlap(wanted, { base: toNumber(address), length: Number(length) });
    });
    if (clash)
      throw new FairleadError(
        "conflict",
        `the mesh network ${cidr} overlaps the host's route to ${clash.dst}${clash.dev ? ` (${clash.dev})` : ""}`,
        {
          hint: "choose other ranges with --pod-cidr and --service-cidr",
        },
      );
  }
}

function toNumber(address: string): number {
  return address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
}

const bridgeNamespace = (plan: NetworkPlan): string => `${plan.prefix}-bridge`;
const hostDevice = (plan: NetworkPlan): string => `${plan.prefix}h`;

/** Takes over the network that is there where processes of an earlier `up` still use it. */
export async function createMeshNetwork(plan: NetworkPlan, journal: Journal): Promise<MeshNetwork> {
  await checkRoutes(plan);
  const items: readonly Leftover[] = [
    { kind: "device", name: hostDevice(plan) },
    { kind: "namespace", name: bridgeNamespace(plan) },
  ];
  for (const item of items) journal.add(item);
  if (!(await isWhole(plan))) {
    for (const item of items) await removeLeftover(item);
    await makeBridge(plan);
  }
  return {
    hostAddress: plan.hostAddress,
    async remove() {
      for (const item of items) {
        await removeLeftover(item);
        journal.remove(item);
      }
    },
  };
}

async function isWhole(plan: NetworkPlan): Promise<boolean> {
  const hosts: { addr_info?: { local?: string; prefixlen?: number }[] }[] = await ip(
    "-j",
    "addr",
    "show",
    "dev",
    hostDevice(plan),
    "up",
  ).then(JSON.parse, () => []);
  const hasAddress = hosts.some(({ addr_info = [] }) =>
    addr_info.some(({ local, prefixlen }) => local === plan.hostAddress && prefixlen === plan.prefixLength),
  );
  return hasAddress && (await ip("-n", bridgeNamespace(plan), "link", "show", "br0").then(Boolean, () => false));
}

async function makeBridge(plan: NetworkPlan): Promise<void> {
  const namespace = bridgeNamespace(plan);
  await ip("netns", "add", namespace);
  await ip("-n", namespace, "link", "set", "lo", "up");
  await ip("-n", namespace, "link", "add", "br0", "type", "bridge", "forward_delay", "0");
  await ip("-n", namespace, "link", "set", "br0", "up");
  await ip("link", "add", hostDevice(plan), "type", "veth", "peer", "name", "host", "netns", namespace);
  await ip("-n", namespace, "link", "set", "host", "master", "br0", "up");
  await ip("addr", "add", `${plan.hostAddress}/${plan.prefixLength}`, "dev", hostDevice(plan));
  await ip("link", "set", hostDevice(plan), "up");
}

/** What a Pod's namespace, link and folder are named by. */
export function podNetworkId(uid: string): string {
  return createHash("sha256").update(uid).digest("hex").slice(0, 10);
}

/** Where the network namespace of a Pod of this machine is entered. */
export function podNetworkPath(plan: NetworkPlan, uid: string): string {
  return `/run/netns/${plan.prefix}-${podNetworkId(uid)}`;
}

/** A Pod's own namespace with the address it was given, linked to the bridge. `device` is unique on the bridge. */
export async function createPodNetwork(
  plan: NetworkPlan,
  journal: Journal,
  pod: { id: string; address: string },
): Promise<PodNetwork> {
  const namespace = `${plan.prefix}-${pod.id}`;
  const item: Leftover = { kind: "namespace", name: namespace };
  journal.add(item);
  await ip("netns", "add", namespace);
  await ip("-n", namespace, "link", "set", "lo", "up");
  await ip(
    "-n",
    namespace,
    "link",
    "add",
    "eth0",
    "type",
    "veth",
    "peer",
    "name",
    `p${pod.id}`.slice(0, 15),
    "netns",
    bridgeNamespace(plan),
  );
  await ip("-n", bridgeNamespace(plan), "link", "set", `p${pod.id}`.slice(0, 15), "master", "br0", "up");
  await ip("-n", namespace, "addr", "add", `${pod.address}/${plan.prefixLength}`, "dev", "eth0");
  await ip("-n", namespace, "link", "set", "eth0", "up");
  // Service addresses are captured before they would leave; they only need a way out to be looked at.
  await ip("-n", namespace, "route", "add", "default", "via", plan.hostAddress, "dev", "eth0");
  return {
    namespace,
    path: `/run/netns/${namespace}`,
    async remove() {
      await removeLeftover(item);
      journal.remove(item);
    },
  };
}

/** Removes a namespace or device if it is still there. */
export async function removeLeftover(item: Leftover): Promise<void> {
  if (item.kind === "namespace") {
    const { stdout } = await run("ip", ["netns", "list"]);
    if (!stdout.split("\n").some((line) => line.split(" ")[0] === item.name)) return;
    await endProcesses(item.name);
    await ip("netns", "del", item.name);
  } else if (item.kind === "device") {
    const links: { ifname: string }[] = JSON.parse(await ip("-j", "link", "show"));
    if (links.some((link) => link.ifname === item.name)) await ip("link", "del", item.name);
  }
}

/** As with a container, whatever still runs in it ends with it: an Envoy whose agent has died, children of the process. */
async function endProcesses(namespace: string): Promise<void> {
  const { stdout } = await run("ip", ["netns", "pids", namespace]);
  for (const pid of stdout.split("\n").map(Number))
    if (pid > 1 && pid !== process.pid)
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // Already gone.
      }
}
