export type * from "./mesh-reads.ts";
export { createDashboard, type DashboardOptions } from "./server/handler.ts";
export { lookInTurns } from "./server/look-in-turns.ts";
export { oneTimeToken } from "./server/sessions.ts";
