export type * from "./mesh-reads.ts";
export { createDashboard, type DashboardOptions } from "./server/handler.ts";
export { oneTimeToken } from "./server/sessions.ts";
