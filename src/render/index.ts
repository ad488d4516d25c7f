export { createEnvoyTypes, type EnvoyTypes, type PatchReport, sayReport } from "./envoy-filter/index.ts";
export { createJsonPrinter, type JsonResource } from "./json.ts";
export { createRenderer, type Renderer, type RendererOptions, type RenderFault } from "./renderer.ts";
export { withoutSharedKeys } from "./security/shared-keys.ts";
export type { RenderProblem } from "./view.ts";
