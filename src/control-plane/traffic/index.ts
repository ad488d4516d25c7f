export { createPeers } from "./peers.ts";
export { createTapView } from "./tap-view.ts";
export { createTraffic, createTrafficView, type Traffic } from "./traffic.ts";
