export { deltaMethod, type Follower, type FollowOptions } from "./client/client.ts";
export { type ClientChange, type ClientResource, type ClientState, createClientState } from "./client/client-state.ts";
export { openQuestions, type Questions } from "./client/questions.ts";
export type { XdsCounter, XdsHistogram, XdsMetrics } from "./metrics.ts";
export { type NodeId, parseNodeId, proxyName } from "./node/node.ts";
export { type Ads, type ConnectedProxy, createAds } from "./server/ads.ts";
export type {
  AdsLimits,
  AdsOptions,
  Authenticate,
  OtherRequest,
  OtherTypes,
  Proven,
} from "./server/ads-options.ts";
export type { Progress, ProxyProgress, SentOfType } from "./server/proxy-progress.ts";
export type { HeldStatus, ProxyStatus, TypeFollower, TypeStatus } from "./server/proxy-status.ts";
export type { WireResource } from "./server/wire.ts";
export type { News, ProxyNode, ProxySession, ResourceSource } from "./source.ts";
export { shortName } from "./type-info.ts";
