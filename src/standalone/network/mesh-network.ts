/**
 * A plan in; the mesh network on one machine out: a namespace that routes, one link to the host, and one to each Pod's
 * namespace. A Pod's link carries what comes from its own address and nothing else, so no Pod can speak as another, as
 * the DNS server or as the control plane; and links ask nobody who has an address (ARP), so there is nothing to forge.
 */
import { FairleadError } from "../../lib/index.ts";
import type { Journal, Leftover } from "../journal.ts";
import { ip } from "./ip.ts";
import { removeLeftover } from "./leftover.ts";
import { type NetworkPlan, overlap, parseCidr } from "./plan.ts";

export interface MeshNetwork {
  readonly hostAddress: string;
  remove(): Promise<void>;
}

/** Both ends of each link have it: a link without ARP sends to its own. */
export const linkAddress = "02:f1:1e:ad:00:01";

export const routerNamespace = (plan: NetworkPlan): string => `${plan.prefix}-router`;
export const hostDevice = (plan: NetworkPlan): string => `${plan.prefix}h`;

/** Takes over the network that is there where processes of an earlier `up` still use it. */
export async function createMeshNetwork(plan: NetworkPlan, journal: Journal): Promise<MeshNetwork> {
  await checkRoutes(plan);
  const items: readonly Leftover[] = [
    { kind: "device", name: hostDevice(plan) },
    { kind: "namespace", name: routerNamespace(plan) },
  ];
  for (const item of items) journal.add(item);
  if (!(await isWhole(plan))) {
    for (const item of items) await removeLeftover(item);
    await makeRouter(plan);
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

/** Refuses ranges that the host already routes elsewhere. */
async function checkRoutes(plan: NetworkPlan): Promise<void> {
  const clash = await findClash(plan);
  if (clash !== undefined)
    throw new FairleadError("conflict", `the mesh network ${clash}`, {
      hint: "choose other ranges with --pod-cidr and --service-cidr",
    });
}

/** Which of the ranges the host already routes elsewhere, in words; the default route does not count. */
export async function findClash(plan: NetworkPlan): Promise<string | undefined> {
  const routes: { dst?: string; dev?: string }[] = JSON.parse(await ip("-j", "-4", "route", "show", "table", "all"));
  for (const cidr of [plan.podCidr, plan.serviceCidr]) {
    const wanted = parseCidr(cidr, "range");
    const clash = routes.find(({ dst, dev }) => {
      if (!dst || dst === "default" || dev === hostDevice(plan) || !/^\d+\./.test(dst)) return false;
      const [address = "", length = "32"] = dst.split("/");
      return overlap(wanted, { base: toNumber(address), length: Number(length) });
    });
    if (clash) return `${cidr} overlaps the host's route to ${clash.dst}${clash.dev ? ` (${clash.dev})` : ""}`;
  }
  return undefined;
}

function toNumber(address: string): number {
  return address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
}

async function isWhole(plan: NetworkPlan): Promise<boolean> {
  const show = ["-j", "addr", "show", "dev", hostDevice(plan), "up"];
  const hosts: { addr_info?: { local?: string; prefixlen?: number }[] }[] = await ip(...show).then(
    JSON.parse,
    () => [],
  );
  const hasAddress = hosts.some(({ addr_info = [] }) =>
    addr_info.some(({ local, prefixlen }) => local === plan.hostAddress && prefixlen === plan.prefixLength),
  );
  // The route is the last that is made.
  const routes = await ip("-n", routerNamespace(plan), "route", "show", "default").catch(() => "");
  return hasAddress && routes !== "";
}

async function makeRouter(plan: NetworkPlan): Promise<void> {
  const router = routerNamespace(plan);
  await ip("netns", "add", router);
  await routeStrictly(router);
  const inside = (...args: readonly string[]): Promise<string> => ip("-n", router, ...args);
  await inside("link", "set", "lo", "up");
  const ends = ["type", "veth", "peer", "name", "host", "address", linkAddress, "netns", router];
  await ip("link", "add", hostDevice(plan), "address", linkAddress, ...ends);
  await inside("link", "set", "host", "arp", "off", "up");
  await ip("link", "set", hostDevice(plan), "arp", "off", "up");
  await ip("addr", "add", `${plan.hostAddress}/${plan.prefixLength}`, "dev", hostDevice(plan));
  // A Pod that is gone is told as such at once; without this its address would be looked for outside.
  await inside("route", "add", "unreachable", plan.podCidr);
  await inside("route", "add", `${plan.hostAddress}/32`, "dev", "host");
  await inside("route", "add", "default", "dev", "host");
}

/** A packet is taken from a link only where an answer to it would leave by the same: `rp_filter`. */
async function routeStrictly(namespace: string): Promise<void> {
  const set = ["all/rp_filter", "default/rp_filter"].map((name) => `echo 1 > /proc/sys/net/ipv4/conf/${name}`);
  const script = [...set, "echo 1 > /proc/sys/net/ipv4/ip_forward"].join(" && ");
  // In a container /proc/sys may be read-only; this command has a view of its own, and may mount it anew.
  await ip(
    "netns",
    "exec",
    namespace,
    "sh",
    "-c",
    `{ ${script}; } 2>/dev/null || { mount -t proc proc /proc && ${script}; }`,
  );
}
