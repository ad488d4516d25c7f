export { createProgrammed, type Programmed, type ProgrammedOptions } from "./programmed.ts";
export { createPartsOf, reachOf, reachSteps } from "./reach.ts";
export { sayVerdict } from "./say.ts";
export { runProgrammedStatus } from "./status.ts";
export { createProgrammedView } from "./view.ts";
