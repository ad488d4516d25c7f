export type * from "./mesh-reads.ts";
export { elsewhere } from "./mesh-reads.ts";
export { createDashboard, type DashboardOptions } from "./server/handler.ts";
export { lookInTurns } from "./server/look-in-turns.ts";
export { createRelay, type RelayedRequest } from "./server/relay.ts";
export { routes } from "./server/routes.ts";
export { oneTimeToken } from "./server/sessions.ts";
export type { Viewer } from "./server/viewer.ts";
