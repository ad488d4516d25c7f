/** The status that Istio's kinds share. */
import { array, enumOf, type Infer, intOrString, object, string } from "./schema.ts";

export const istioCondition = object(
  {
    type: string(),
    status: string(),
    lastProbeTime: string({ format: "date-time" }),
    lastTransitionTime: string({ format: "date-time" }),
    reason: string(),
    message: string(),
    observedGeneration: intOrString(),
  },
  { proto: "istio.meta.v1alpha1.IstioCondition" },
);
export type IstioCondition = Infer<typeof istioCondition>;

const analysisMessageBaseType = object(
  { name: string(), code: string() },
  { proto: "istio.analysis.v1alpha1.AnalysisMessageBase.Type" },
);
export type AnalysisMessageBaseType = Infer<typeof analysisMessageBaseType>;

export const analysisMessageBase = object(
  {
    type: analysisMessageBaseType,
    level: enumOf(["UNKNOWN", "ERROR", "WARNING", "INFO"], {
      numbers: [0, 3, 8, 12],
      proto: "istio.analysis.v1alpha1.AnalysisMessageBase.Level",
    }),
    documentationUrl: string(),
  },
  { proto: "istio.analysis.v1alpha1.AnalysisMessageBase" },
);
export type AnalysisMessageBase = Infer<typeof analysisMessageBase>;

export const istioStatus = object(
  {
    conditions: array(istioCondition),
    validationMessages: array(analysisMessageBase),
    observedGeneration: intOrString(),
  },
  { proto: "istio.meta.v1alpha1.IstioStatus", preserveUnknown: true },
);
export type IstioStatus = Infer<typeof istioStatus>;
