export { type InjectionReview, type InjectionSources, reviewInjection } from "./admission.ts";
export { type DocumentOptions, type InjectedDocument, injectDocuments } from "./documents.ts";
export {
  type GatewaySources,
  gatewayNameLabel,
  gatewayObjects,
  managedBy,
  managedLabel,
} from "./gateway-objects.ts";
export type { InjectSettings } from "./inject-pod.ts";
export { openShiftIds, runsNativeSidecars } from "./platform.ts";
export { createInjectSettings, type SettingsSources } from "./settings.ts";
