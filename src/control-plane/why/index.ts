export { answerOf, type Report, verdictLine } from "./answer.ts";
export { createLiveWhy } from "./live.ts";
export { createObjectOf } from "./object-of.ts";
export { createOfflinePlace } from "./offline-place.ts";
export type { Place } from "./place.ts";
export { decidersOf, type Locate, type Sources, showDecider } from "./provenance.ts";
export { type Ask, askOf } from "./question.ts";
export { createWhyView } from "./view.ts";
