/** A Pod's address in; its own network namespace, linked to the mesh network's router, out. */
import { createHash } from "node:crypto";
import type { Journal, Leftover } from "../journal.ts";
import { ip } from "./ip.ts";
import { removeLeftover } from "./leftover.ts";
import { linkAddress, routerNamespace } from "./mesh-network.ts";
import type { NetworkPlan } from "./plan.ts";

export interface PodNetwork {
  /** Name for `ip netns`. */
  readonly namespace: string;
  /** Path to enter it by. */
  readonly path: string;
  remove(): Promise<void>;
}

/** What a Pod's namespace, link and folder are named by. */
export function podNetworkId(uid: string): string {
  return createHash("sha256").update(uid).digest("hex").slice(0, 10);
}

/** Where the network namespace of a Pod of this machine is entered. */
export function podNetworkPath(plan: NetworkPlan, uid: string): string {
  return `/run/netns/${plan.prefix}-${podNetworkId(uid)}`;
}

export async function createPodNetwork(
  plan: NetworkPlan,
  journal: Journal,
  pod: { readonly id: string; readonly address: string },
): Promise<PodNetwork> {
  const namespace = `${plan.prefix}-${pod.id}`;
  const item: Leftover = { kind: "namespace", name: namespace };
  journal.add(item);
  await ip("netns", "add", namespace);
  const inside = (...args: readonly string[]): Promise<string> => ip("-n", namespace, ...args);
  const router = (...args: readonly string[]): Promise<string> => ip("-n", routerNamespace(plan), ...args);
  const device = `p${pod.id}`.slice(0, 15);
  const ends = ["type", "veth", "peer", "name", device, "address", linkAddress, "netns", routerNamespace(plan)];
  await inside("link", "set", "lo", "up");
  await inside("link", "add", "eth0", "address", linkAddress, ...ends);
  await router("link", "set", device, "arp", "off", "up");
  await inside("link", "set", "eth0", "arp", "off", "up");
  await inside("addr", "add", `${pod.address}/${plan.prefixLength}`, "dev", "eth0");
  // Service addresses are captured before they would leave; they only need a way out to be looked at.
  await inside("route", "add", "default", "via", plan.hostAddress, "dev", "eth0");
  await router("route", "replace", `${pod.address}/32`, "dev", device);
  return {
    namespace,
    path: `/run/netns/${namespace}`,
    async remove() {
      await removeLeftover(item);
      journal.remove(item);
    },
  };
}
