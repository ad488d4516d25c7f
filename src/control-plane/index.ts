export {
  type Address,
  type Discovery,
  type DiscoveryAddresses,
  type DiscoveryOptions,
  startDiscovery,
} from "./discovery.ts";
export { createOffline, type Offline, type OfflineOptions } from "./offline.ts";
