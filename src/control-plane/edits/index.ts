export { applyObjects } from "./apply.ts";
export { createEdits } from "./edits.ts";
