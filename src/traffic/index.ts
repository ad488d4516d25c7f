export { mergeSnapshots } from "./add.ts";
export { type Connections, type Counted, type EdgeTraffic, noService, type Requests } from "./edge.ts";
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
export { type Grouping, type GroupName, rowOf, summarize, type TrafficRow } from "./summary.ts";
export { createTapHub, type LiveTap, type TapQuestion, type TapView } from "./tap.ts";
