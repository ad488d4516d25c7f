export { createInputs, groupOf, type Inputs, meshConfigKey, type ObjectsOf } from "./inputs.ts";
export { type ContainerPort, type Pod, readPod } from "./pod.ts";
export { type ProxyContext, proxyOfPod } from "./proxies.ts";
export { createRegistry, type Registry, type RegistryOptions, type WorkloadAddress } from "./registry.ts";
