export { followChanges, written } from "./changes.ts";
export { createHistoryFile } from "./history-file.ts";
