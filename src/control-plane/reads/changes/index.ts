export { type Changes, followChanges, written } from "./changes.ts";
export { createHistoryFile } from "./history-file.ts";
