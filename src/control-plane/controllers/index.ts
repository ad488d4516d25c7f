export { refusedCode } from "./find-problems.ts";
export { runGatewayClasses } from "./gateway-classes.ts";
export { runGatewayDeployments } from "./gateway-deployments.ts";
export { runKeyedWork } from "./keyed-work.ts";
export { type ProblemReportsOptions, runProblemReports } from "./problem-reports.ts";
export { runServiceEntryAddresses } from "./service-entry-addresses.ts";
export { runStatusWriter } from "./status-writer.ts";
