/** The kinds that the standalone controllers read and write. */
import type { KindRef } from "../kube/index.ts";

const core = (plural: string, kind: string, namespaced = true): KindRef => ({
  group: "",
  version: "v1",
  plural,
  kind,
  namespaced,
});

export const namespaces = core("namespaces", "Namespace", false);
export const services = core("services", "Service");
export const pods = core("pods", "Pod");
export const serviceAccounts = core("serviceaccounts", "ServiceAccount");
export const configMaps = core("configmaps", "ConfigMap");
export const endpointSlices: KindRef = {
  group: "discovery.k8s.io",
  version: "v1",
  plural: "endpointslices",
  kind: "EndpointSlice",
  namespaced: true,
};
export const leases: KindRef = {
  group: "coordination.k8s.io",
  version: "v1",
  plural: "leases",
  kind: "Lease",
  namespaced: true,
};

/** Marks Pods that `fairlead run` made; its value is the name of the Lease that the runner renews. */
export const runnerAnnotation = "fairlead.dev/runner-lease";
