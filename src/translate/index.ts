export { createGatewayApi } from "./gateway-api/create-gateway-api.ts";
export { missingFeatures, supportedFeatures } from "./gateway-api/features.ts";
export type { GatewayWorkload } from "./gateway-api/gateway-workload.ts";
export type { GatewayApiConfigs } from "./gateway-api/inputs.ts";
export type { ObjectStatus } from "./gateway-api/status.ts";
export { createIngress } from "./ingress.ts";
export { createIngressStatuses, type IngressStatusInputs } from "./ingress-status.ts";
