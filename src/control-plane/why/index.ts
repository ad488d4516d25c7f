export { answerOf, type Report, verdictLine } from "./answer.ts";
export type { ExplainedMesh } from "./explained-mesh.ts";
export { createLiveWhy } from "./live.ts";
export { createObjectOf } from "./object-of.ts";
export { createOfflineMesh } from "./offline-mesh.ts";
export { decidersOf, type Locate, type Sources, showDecider } from "./provenance.ts";
export { type Ask, askOf } from "./question.ts";
export { createWhyView } from "./view.ts";
