export { createOffline, type Offline, type OfflineOptions } from "./offline.ts";
