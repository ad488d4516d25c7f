export { runGatewayClasses } from "./gateway-classes.ts";
export { runProblemReports } from "./problem-reports.ts";
export { runServiceEntryAddresses } from "./service-entry-addresses.ts";
export { runStatusWriter } from "./status-writer.ts";
