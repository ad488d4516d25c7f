export { type Ads, createAds } from "./ads.ts";
export type {
  AdsLimits,
  AdsOptions,
  Authenticate,
  OtherRequest,
  OtherTypes,
} from "./ads-options.ts";
export { deltaMethod, type Follower, type FollowOptions } from "./client.ts";
export { type ClientChange, type ClientResource, type ClientState, createClientState } from "./client-state.ts";
export type { XdsCounter, XdsHistogram, XdsMetrics } from "./metrics.ts";
export { type NodeId, parseNodeId } from "./node.ts";
export type { HeldStatus, ProxyStatus, TypeStatus } from "./proxy-status.ts";
export type { News, ProxyNode, ProxySession, ResourceSource } from "./source.ts";
export { shortName } from "./type-info.ts";
export type { WireResource } from "./wire.ts";
