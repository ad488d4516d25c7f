export { type AccessLogEntry, flagMeanings, parseAccessLog } from "./access-log.ts";
export { type Change, type Risk, risks } from "./change/change.ts";
export { type Comparison, createComparison, type Difference, type Sent } from "./change/compare.ts";
export type { Departure, Explanation, World } from "./explain.ts";
export type { Side } from "./hop.ts";
export { explainAll, type Possibilities, possibilities } from "./outcomes.ts";
export {
  createDecoded,
  createProxyView,
  type Decoded,
  type ProxyFacts,
  type ProxyView,
  type ResourceReader,
} from "./proxy-view.ts";
export type { Address, ClientHello, Connection, Headers, HttpRequest, Payload } from "./request.ts";
export { type RouteWords, routeWords } from "./route-words.ts";
export { type Choice, type Choose, type Hint, type Hop, type Outcome, percent, type Step } from "./trace.ts";
