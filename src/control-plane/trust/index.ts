export { runRootDistribution } from "./root-distribution.ts";
export type { RotationPace } from "./rotation-driver.ts";
export { type RotationView, readRotationView, requestRotation } from "./rotation-view.ts";
export type { ServingFiles } from "./serving.ts";
export { createTrust, type Trust } from "./trust.ts";
export type { TrustOptions } from "./trust-options.ts";
export { createTrustView, trustFacts } from "./trust-view.ts";
export type { CaFolder } from "./wanted-ca.ts";
export { runWebhookBundles } from "./webhook-bundles.ts";
