/** Services and `run` Pods without an address in; addresses from the mesh network's ranges out. */
import type { KubeObject } from "../model/index.ts";
import { type ControllerContext, follow } from "./controller.ts";
import { pods, runnerAnnotation, services } from "./kinds.ts";
import { addressesOf, type NetworkPlan, placeOf } from "./network/plan.ts";
import { createReconciler, type Reconciler } from "./reconciler.ts";
import { readPodShape, readService } from "./service-shape.ts";

export function runAddresses(context: ControllerContext, plan: NetworkPlan): readonly Reconciler[] {
  return [runServiceAddresses(context, plan), runPodAddresses(context, plan)];
}

interface Allocation {
  readonly cidr: string;
  readonly inUse: () => ReadonlySet<string>;
  /** One that was given back comes last again, not next. */
  readonly rests: boolean;
}

/** The first ones are the host's own. */
const skipped = 9;

/** Gives out addresses that nobody has; one just given out is kept until its object shows it. */
function createAllocator({ cidr, inUse, rests }: Allocation) {
  const given = new Map<string, string>();
  let last = rests ? highest(cidr, inUse()) : skipped;
  const next = (taken: ReadonlySet<string>): string | undefined => {
    for (const from of [last, skipped])
      for (const address of addressesOf(cidr, from)) if (!taken.has(address)) return address;
    return undefined;
  };
  return (key: string): string => {
    const used = inUse();
    for (const [other, address] of given) if (used.has(address)) given.delete(other);
    const mine = given.get(key);
    if (mine !== undefined) return mine;
    const address = next(new Set([...used, ...given.values()]));
    if (address === undefined) throw new Error(`no address is left in ${cidr}`);
    given.set(key, address);
    if (rests) last = placeOf(cidr, address);
    return address;
  };
}

const highest = (cidr: string, used: ReadonlySet<string>): number =>
  [...used].map((address) => placeOf(cidr, address)).reduce((most, place) => Math.max(most, place), skipped);

function runServiceAddresses(context: ControllerContext, plan: NetworkPlan): Reconciler {
  const all = context.objects(services);
  const wants = (service: KubeObject): boolean => {
    const shape = readService(service);
    return shape.clusterIP === "" && shape.type !== "ExternalName";
  };
  const inUse = (): ReadonlySet<string> =>
    new Set(
      all
        .keys()
        .flatMap((key) => all.get(key) ?? [])
        .map((service) => readService(service).clusterIP),
    );
  const allocate = createAllocator({ cidr: plan.serviceCidr, inUse, rests: false });
  const reconciler = createReconciler({
    name: "service addresses",
    ...context,
    async reconcile(key) {
      const service = all.get(key);
      if (!service || !wants(service)) return;
      const address = allocate(key);
      const { name, namespace } = service.metadata;
      await context.client.patch(services, { name, namespace }, "merge", {
        metadata: { resourceVersion: service.metadata.resourceVersion },
        spec: { clusterIP: address, clusterIPs: [address], ipFamilies: ["IPv4"], ipFamilyPolicy: "SingleStack" },
      });
    },
  });
  follow(all, (key) => reconciler.add(key));
  return reconciler;
}

function runPodAddresses(context: ControllerContext, plan: NetworkPlan): Reconciler {
  const all = context.objects(pods);
  const wants = (pod: KubeObject): boolean =>
    pod.metadata.annotations?.[runnerAnnotation] !== undefined && readPodShape(pod).address === "";
  const inUse = (): ReadonlySet<string> =>
    new Set(
      all
        .keys()
        .flatMap((key) => all.get(key) ?? [])
        .map((pod) => readPodShape(pod).address),
    );
  // Who has not heard yet that a Pod is gone must not find another at its address.
  const allocate = createAllocator({ cidr: plan.podCidr, inUse, rests: true });
  const reconciler = createReconciler({
    name: "pod addresses",
    ...context,
    async reconcile(key) {
      const pod = all.get(key);
      if (!pod || !wants(pod)) return;
      const address = allocate(`${key} ${pod.metadata.uid}`);
      const { name, namespace } = pod.metadata;
      await context.client.patchStatus(
        pods,
        { name, namespace },
        {
          phase: "Pending",
          podIP: address,
          podIPs: [{ ip: address }],
          hostIP: plan.hostAddress,
          hostIPs: [{ ip: plan.hostAddress }],
        },
      );
    },
  });
  follow(all, (key) => reconciler.add(key));
  return reconciler;
}
