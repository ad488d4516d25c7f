export { createJsonPrinter, type JsonResource } from "./json.ts";
export { createRenderer, type Renderer, type RendererOptions, type RenderFault } from "./renderer.ts";
