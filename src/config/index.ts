export {
  type AdmissionFailure,
  type AdmissionResponse,
  type AdmissionReview,
  alwaysReject,
  type Reviewed,
  reviewAdmission,
  reviewAdmissionText,
} from "./admission.ts";
export { type AnalyzeOptions, analyserNames, analysisSteps, analyze } from "./analyze/analyze.ts";
export { type CredentialReferences, credentialReferences } from "./analyze/credential.ts";
export type { AnalysisLevel, AnalysisMessage } from "./analyze/message.ts";
export type { AnalysisSources } from "./analyze/objects.ts";
export { type Decoded, decode, decodeMeshConfig, decodeMeshNetworks, decodeProxyConfig } from "./decode.ts";
export { podAnnotationError, unknownPodAnnotation } from "./pod-annotations.ts";
export type { Problem } from "./problem.ts";
export { type Accepted, type AcceptOptions, acceptInSteps, acceptObject, shapeObject } from "./schema/accept.ts";
export { type CelRules, loadCel } from "./schema/cel.ts";
export { celValue } from "./schema/cel-value.ts";
export { type CustomResourceDefinition, crdFor, type JsonSchema, objectSchema } from "./schema/crd.ts";
export { type FieldIssue, type FieldReason, formatIssue } from "./schema/field-issue.ts";
export type { PatchChecker, ValidateOptions } from "./validate/check.ts";
export { validateMeshConfig, validateMeshNetworks } from "./validate/mesh-config.ts";
export type { Verdict } from "./validate/report.ts";
export { validateConfig } from "./validate/validate-config.ts";
