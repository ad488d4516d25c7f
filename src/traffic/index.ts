export { mergeSnapshots } from "./add.ts";
export {
  type CalledService,
  type Connections,
  type Counted,
  type EdgeName,
  type EdgeTraffic,
  noService,
  type Party,
  type Requests,
  type Side,
} from "./edge.ts";
export { type EdgeRow, summarizeEdges } from "./edges.ts";
export { parseSnapshot, parseTapBatch } from "./parse-answer.ts";
export { createTrafficService, type KnownWorkload, type TrafficServiceOptions } from "./service.ts";
export {
  createTrafficStore,
  type TimeRange,
  type TrafficFacts,
  type TrafficPoint,
  type TrafficSnapshot,
  type TrafficStore,
  type TrafficStoreOptions,
  type TrafficView,
} from "./store.ts";
export { type Grouping, type MutualTls, rowOf, summarize, type TrafficRow } from "./summary.ts";
export {
  createTapHub,
  type LiveRequest,
  type LiveTap,
  type TapBatch,
  type TapQuestion,
  type TapView,
} from "./tap.ts";
