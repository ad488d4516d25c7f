export { type DebugCaller, type DebugQuestion, mayDebug } from "./authorize-debug.ts";
export { type ControlZSources, controlZRoutes } from "./controlz.ts";
export {
  answerDebug,
  type DebugAnswer,
  type DebugRequest,
  type DebugSources,
  type DebugView,
  eachProxy,
  findProxy,
  proxyNamespace,
} from "./debug.ts";
export { createDebugTypes } from "./debug-types.ts";
export {
  createHttpServer,
  type HttpAnswer,
  type HttpHandler,
  type HttpRequest,
  type HttpServer,
  type HttpServerOptions,
  type HttpStream,
  isLocalHost,
  isOtherSite,
  noRoom,
  statusOf,
} from "./http-server.ts";
export { createMetrics, type Labels, type Metrics, metricNames, sampleLabels } from "./metrics.ts";
export { measureProcess } from "./process-metrics.ts";
export { versionInfo, versionText } from "./version.ts";
