export { createTapView } from "./tap-view.ts";
export { createTraffic, createTrafficView, type Traffic } from "./traffic.ts";
