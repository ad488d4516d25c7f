export { createGatewayApi, type TranslatedGatewayApi } from "./gateway-api/create-gateway-api.ts";
export type { GatewayApiConfigs, GatewayApiInputs } from "./gateway-api/inputs.ts";
export type { Condition, ObjectStatus } from "./gateway-api/status.ts";
export { createIngress, type IngressInputs, type TranslatedIngress } from "./ingress.ts";
