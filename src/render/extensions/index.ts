export type { ExtensionPhase } from "./extension.ts";
export { attachedExtensions, namedExtension } from "./extension.ts";
export { type ExtensionPlace, extensionFilters, extensionNetworkFilters } from "./filters.ts";
export { withoutPullSecret } from "./shown-extension.ts";
export { wasmExtensionConfig } from "./wasm-config.ts";
