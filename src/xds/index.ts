export { type Ads, createAds } from "./ads.ts";
export {
  type AdsLimits,
  type AdsOptions,
  type Authenticate,
  defaultAdsLimits,
  type OtherRequest,
  type OtherTypes,
} from "./ads-options.ts";
export { askOnce, deltaMethod, type Follower, type FollowOptions, follow, sotwMethod } from "./client.ts";
export { type ClientChange, type ClientResource, type ClientState, createClientState } from "./client-state.ts";
export { noMetrics, type XdsCounter, type XdsHistogram, type XdsMetrics } from "./metrics.ts";
export { type NodeId, parseNodeId } from "./node.ts";
export type { HeldStatus, ProxyStatus, TypeStatus } from "./proxy-status.ts";
export type { ProxyNode, ProxySession, ResourceSource } from "./source.ts";
export { knownType, pushOrder, shortName } from "./type-info.ts";
export type { WireResource } from "./wire.ts";
