/** The status that Istio's kinds share. */
import { array, enumOf, type Infer, intOrString, object, string } from "./schema.ts";

export const istioCondition = object({
  type: string(),
  status: string(),
  lastProbeTime: string({ format: "date-time" }),
  lastTransitionTime: string({ format: "date-time" }),
  reason: string(),
  message: string(),
  observedGeneration: intOrString(),
});
export type IstioCondition = Infer<typeof istioCondition>;

export const analysisMessageBaseType = object({ name: string(), code: string() });
export type AnalysisMessageBaseType = Infer<typeof analysisMessageBaseType>;

export const analysisMessageBase = object({
  type: analysisMessageBaseType,
  level: enumOf(["UNKNOWN", "ERROR", "WARNING", "INFO"], { numbers: [0, 3, 8, 12] }),
  documentationUrl: string(),
});
export type AnalysisMessageBase = Infer<typeof analysisMessageBase>;

export const istioStatus = object(
  {
    conditions: array(istioCondition),
    validationMessages: array(analysisMessageBase),
    observedGeneration: intOrString(),
  },
  { preserveUnknown: true },
);
export type IstioStatus = Infer<typeof istioStatus>;
