export { type DocumentOptions, type InjectedDocument, injectDocuments } from "./documents.ts";
export { createInjectSettings, type SettingsSources } from "./settings.ts";
