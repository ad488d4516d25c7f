export type { ObjectsOf } from "./objects.ts";
export { readPod } from "./pod.ts";
export { connectingProxy, plainSidecar, proxyOfPod, versionOfProxy } from "./proxies.ts";
export { createRegistry, type Registry } from "./registry.ts";
export type { WorkloadFacts } from "./workload.ts";
