export { completed } from "./completed.ts";
export { createDiffer, type Diffing } from "./differ.ts";
export { createLiveDiff, type LiveDiff } from "./live.ts";
export { asCreated, type Change, checkDeleted, nameOf } from "./proposal.ts";
export { standIns } from "./stand-ins.ts";
export {
  comparedTypes,
  compareStates,
  createStates,
  type ProxyChoice,
  type State,
  type StateChange,
  type States,
} from "./states.ts";
export { type Summary, summaryOf } from "./summary.ts";
export { createDiffView } from "./view.ts";
