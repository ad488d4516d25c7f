export type { ObjectsOf } from "./objects.ts";
export { type ContainerPort, type Pod, readPod } from "./pod.ts";
export { type ProxyContext, proxyOfPod } from "./proxies.ts";
export { createRegistry, type Registry, type RegistryOptions, type WorkloadAddress } from "./registry.ts";
