export { type DocumentOptions, type InjectedDocument, injectDocuments } from "./documents.ts";
export { type InjectSettings, injectPod, type PodContext } from "./inject-pod.ts";
export { createInjectSettings, type SettingsSources } from "./settings.ts";
