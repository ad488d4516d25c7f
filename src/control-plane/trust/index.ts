export { runRootDistribution } from "./root-distribution.ts";
export type { RotationPace } from "./rotation-driver.ts";
export { createTrust, type Trust } from "./trust.ts";
export type { CaFolder } from "./wanted-ca.ts";
export { runWebhookBundles } from "./webhook-bundles.ts";
