export { createPeers } from "./peers.ts";
export { createTapSessions, createTapView, type TapSessions } from "./tap-sessions.ts";
export { createTraffic, createTrafficView, type Traffic } from "./traffic.ts";
