export { createProgrammed, type Programmed } from "./programmed.ts";
export { runProgrammedStatus } from "./status.ts";
export { createProgrammedView } from "./view.ts";
