export { loadPatchChecker } from "./check-patch.ts";
export { createEnvoyTypes, type EnvoyTypes } from "./envoy-types.ts";
export type { PatchReport } from "./patch-run.ts";
export { patchedKinds } from "./patched-kinds.ts";
export { sayReport } from "./say-report.ts";
