export { createProgrammed, type Programmed } from "./programmed.ts";
export { createPartsOf, type Reach, reachOf, reachSteps } from "./reach.ts";
export { sayVerdict } from "./say.ts";
export { runProgrammedStatus } from "./status.ts";
export { createProgrammedView } from "./view.ts";
