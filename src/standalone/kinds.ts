/** The kinds that the standalone controllers read and write. */
import { kubeKinds } from "../kube/index.ts";

export const { namespaces, nodes, services, pods, serviceAccounts, configMaps, endpointSlices, leases } = kubeKinds;

/** The one node: this machine. */
export const nodeName = "localhost";

/** Marks Pods that `fairlead run` made; its value is the name of the Lease that the runner renews. */
export const runnerAnnotation = "fairlead.dev/runner-lease";
