export { createOffline, type Offline, type OfflineInput } from "./offline.ts";
export { createStages, defaultStageOptions, type StageOptions, type Stages } from "./stages.ts";
