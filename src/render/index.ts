export {
  createEnvoyTypes,
  type EnvoyTypes,
  loadPatchChecker,
  type PatchReport,
  sayReport,
} from "./envoy-filter/index.ts";
export { createJsonPrinter, type JsonResource } from "./json.ts";
export type { Steps } from "./layer.ts";
export { createRenderer, createRendering, type Renderer, type Rendering, type RenderingOptions } from "./renderer.ts";
export { differences } from "./resource-sets.ts";
export { shownResource } from "./shown.ts";
export type { RenderFault, RenderProblem } from "./view.ts";
