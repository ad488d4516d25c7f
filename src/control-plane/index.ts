export type { CausesOf } from "./debug/causes.ts";
export {
  asCreated,
  type Change,
  checkDeleted,
  comparedTypes,
  compareStates,
  completed,
  createDiffer,
  createStates,
  type Diffing,
  nameOf,
  type ProxyChoice,
  type State,
  type StateChange,
  type States,
  type Summary,
  standIns,
  summaryOf,
} from "./diff/index.ts";
export { type Discovery, startDiscovery } from "./discovery.ts";
export type { Address, DashboardSettings, DiscoveryAddresses, DiscoveryOptions } from "./discovery-options.ts";
export { applyObjects } from "./edits/index.ts";
export { type IssuerRule, parseIssuerRule } from "./issuer-judge.ts";
export { createOffline, type Offline, type OfflineOptions } from "./offline.ts";
export type { FleetRuntime } from "./render-ahead.ts";
export {
  type CaFolder,
  type ExternalCaOptions,
  type RotationPace,
  type RotationView,
  readRotationView,
  requestRotation,
  type ServingFiles,
} from "./trust/index.ts";
export {
  type Ask,
  answerOf,
  askOf,
  createOfflineMesh,
  decidersOf,
  type ExplainedMesh,
  type Locate,
  type Sources,
  showDecider,
  verdictLine,
} from "./why/index.ts";
