/** Services and `run` Pods without an address in; addresses from the mesh network's ranges out. */
import type { KubeObject } from "../model/index.ts";
import { type ControllerContext, follow } from "./controller.ts";
import { pods, runnerAnnotation, services } from "./kinds.ts";
import { addressesOf, type NetworkPlan } from "./network/plan.ts";
import { createReconciler, type Reconciler } from "./reconciler.ts";
import { readPodShape, readService } from "./service-shape.ts";

export function runAddresses(context: ControllerContext, plan: NetworkPlan): readonly Reconciler[] {
  return [runServiceAddresses(context, plan), runPodAddresses(context, plan)];
}

/** Gives out addresses that nobody has; one just given out is kept until its object shows it. */
function createAllocator(cidr: string, skip: number, inUse: () => ReadonlySet<string>) {
  const given = new Map<string, string>();
  return (key: string): string => {
    const mine = given.get(key);
    const used = inUse();
    if (mine !== undefined && !used.has(mine)) return mine;
    const taken = new Set([...used, ...given.values()]);
    for (const address of addressesOf(cidr, skip)) {
      if (taken.has(address)) continue;
      given.set(key, address);
      return address;
    }
    throw new Error(`no address is left in ${cidr}`);
  };
}

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
  const allocate = createAllocator(plan.serviceCidr, 9, inUse);
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
  const allocate = createAllocator(plan.podCidr, 9, inUse);
  const reconciler = createReconciler({
    name: "pod addresses",
    ...context,
    async reconcile(key) {
      const pod = all.get(key);
      if (!pod || !wants(pod)) return;
      const address = allocate(key);
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
