export { createIngress, type IngressInputs, type TranslatedIngress } from "./ingress.ts";
