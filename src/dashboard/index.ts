export type * from "./apply-write.ts";
export { createDashboard, type DashboardOptions } from "./server/handler.ts";
export { lookInTurns } from "./server/look-in-turns.ts";
export { parseDiffQuestion } from "./server/read-diff-question.ts";
export { parseWhyQuestion, readWhyQuestion } from "./server/read-why-question.ts";
export { createRelay, type RelayedRequest } from "./server/relay.ts";
export { routes } from "./server/routes.ts";
export { oneTimeToken } from "./server/sessions.ts";
export type { Viewer } from "./server/viewer.ts";
