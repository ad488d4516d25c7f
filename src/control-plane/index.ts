export { type Discovery, startDiscovery } from "./discovery.ts";
export type { Address, DiscoveryAddresses, DiscoveryOptions } from "./discovery-options.ts";
export { createOffline, type Offline, type OfflineOptions } from "./offline.ts";
export type { CaFolder, RotationPace } from "./trust/index.ts";
