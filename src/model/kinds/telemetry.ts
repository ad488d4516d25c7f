/** Telemetry: metrics, access logs and traces. */
import { defineKind } from "./kind.ts";
import { array, boolean, double, duration, enumOf, type Infer, map, object, string } from "./schema.ts";
import { policyTargetReference, workloadSelector } from "./selector.ts";
import { istioStatus } from "./status.ts";

const telemetryTracingSelector = object(
  { mode: enumOf(["CLIENT_AND_SERVER", "CLIENT", "SERVER"], { proto: "istio.telemetry.v1alpha1.WorkloadMode" }) },
  { proto: "istio.telemetry.v1alpha1.Tracing.TracingSelector" },
);
export type TelemetryTracingSelector = Infer<typeof telemetryTracingSelector>;

const providerRef = object(
  { name: string({ minLength: 1 }) },
  { proto: "istio.telemetry.v1alpha1.ProviderRef", required: ["name"] },
);
export type ProviderRef = Infer<typeof providerRef>;

const telemetryTracingLiteral = object(
  { value: string({ minLength: 1 }) },
  { proto: "istio.telemetry.v1alpha1.Tracing.Literal", required: ["value"] },
);
export type TelemetryTracingLiteral = Infer<typeof telemetryTracingLiteral>;

const telemetryTracingEnvironment = object(
  { name: string({ minLength: 1 }), defaultValue: string() },
  { proto: "istio.telemetry.v1alpha1.Tracing.Environment", required: ["name"] },
);
export type TelemetryTracingEnvironment = Infer<typeof telemetryTracingEnvironment>;

const telemetryTracingRequestHeader = object(
  { name: string({ minLength: 1 }), defaultValue: string() },
  { proto: "istio.telemetry.v1alpha1.Tracing.RequestHeader", required: ["name"] },
);
export type TelemetryTracingRequestHeader = Infer<typeof telemetryTracingRequestHeader>;

const telemetryTracingFormatter = object(
  { value: string({ minLength: 1 }) },
  { proto: "istio.telemetry.v1alpha1.Tracing.Formatter", required: ["value"] },
);
export type TelemetryTracingFormatter = Infer<typeof telemetryTracingFormatter>;

const telemetryTracingCustomTag = object(
  {
    literal: telemetryTracingLiteral,
    environment: telemetryTracingEnvironment,
    header: telemetryTracingRequestHeader,
    formatter: telemetryTracingFormatter,
  },
  { proto: "istio.telemetry.v1alpha1.Tracing.CustomTag", oneOf: [["literal", "environment", "header", "formatter"]] },
);
export type TelemetryTracingCustomTag = Infer<typeof telemetryTracingCustomTag>;

const telemetryTracing = object(
  {
    match: telemetryTracingSelector,
    providers: array(providerRef),
    randomSamplingPercentage: double({ nullable: true, minimum: 0, maximum: 100 }),
    disableSpanReporting: boolean({ nullable: true }),
    customTags: map(telemetryTracingCustomTag),
    useRequestIdForTraceSampling: boolean({ nullable: true }),
    enableIstioTags: boolean({ nullable: true }),
    disableContextPropagation: boolean({ nullable: true }),
  },
  { proto: "istio.telemetry.v1alpha1.Tracing" },
);
export type TelemetryTracing = Infer<typeof telemetryTracing>;

const metricSelector = object(
  {
    metric: enumOf(
      [
        "ALL_METRICS",
        "REQUEST_COUNT",
        "REQUEST_DURATION",
        "REQUEST_SIZE",
        "RESPONSE_SIZE",
        "TCP_OPENED_CONNECTIONS",
        "TCP_CLOSED_CONNECTIONS",
        "TCP_SENT_BYTES",
        "TCP_RECEIVED_BYTES",
        "GRPC_REQUEST_MESSAGES",
        "GRPC_RESPONSE_MESSAGES",
      ],
      { proto: "istio.telemetry.v1alpha1.MetricSelector.IstioMetric" },
    ),
    customMetric: string({ minLength: 1 }),
    mode: enumOf(["CLIENT_AND_SERVER", "CLIENT", "SERVER"], { proto: "istio.telemetry.v1alpha1.WorkloadMode" }),
  },
  { proto: "istio.telemetry.v1alpha1.MetricSelector", oneOf: [["metric", "customMetric"]] },
);
export type MetricSelector = Infer<typeof metricSelector>;

const telemetryMetricsOverridesTagOverride = object(
  {
    operation: enumOf(["UPSERT", "REMOVE"], {
      proto: "istio.telemetry.v1alpha1.MetricsOverrides.TagOverride.Operation",
    }),
    value: string(),
  },
  {
    proto: "istio.telemetry.v1alpha1.MetricsOverrides.TagOverride",
    rules: [
      {
        message: "value must be set when operation is UPSERT",
        rule: '((has(self.operation) ? self.operation : "") == "UPSERT") ? (self.value != "") : true',
      },
      {
        message: "value must not be set when operation is REMOVE",
        rule: '((has(self.operation) ? self.operation : "") == "REMOVE") ? !has(self.value) : true',
      },
    ],
  },
);
export type TelemetryMetricsOverridesTagOverride = Infer<typeof telemetryMetricsOverridesTagOverride>;

const telemetryMetricsOverrides = object(
  {
    match: metricSelector,
    disabled: boolean({ nullable: true }),
    tagOverrides: map(telemetryMetricsOverridesTagOverride),
  },
  { proto: "istio.telemetry.v1alpha1.MetricsOverrides" },
);
export type TelemetryMetricsOverrides = Infer<typeof telemetryMetricsOverrides>;

const telemetryMetrics = object(
  { providers: array(providerRef), overrides: array(telemetryMetricsOverrides), reportingInterval: duration() },
  { proto: "istio.telemetry.v1alpha1.Metrics" },
);
export type TelemetryMetrics = Infer<typeof telemetryMetrics>;

const telemetryAccessLoggingLogSelector = object(
  { mode: enumOf(["CLIENT_AND_SERVER", "CLIENT", "SERVER"], { proto: "istio.telemetry.v1alpha1.WorkloadMode" }) },
  { proto: "istio.telemetry.v1alpha1.AccessLogging.LogSelector" },
);
export type TelemetryAccessLoggingLogSelector = Infer<typeof telemetryAccessLoggingLogSelector>;

const telemetryAccessLoggingFilter = object(
  { expression: string() },
  { proto: "istio.telemetry.v1alpha1.AccessLogging.Filter" },
);
export type TelemetryAccessLoggingFilter = Infer<typeof telemetryAccessLoggingFilter>;

const telemetryAccessLogging = object(
  {
    match: telemetryAccessLoggingLogSelector,
    providers: array(providerRef),
    disabled: boolean({ nullable: true }),
    filter: telemetryAccessLoggingFilter,
  },
  { proto: "istio.telemetry.v1alpha1.AccessLogging" },
);
export type TelemetryAccessLogging = Infer<typeof telemetryAccessLogging>;

const telemetrySpec = object(
  {
    selector: workloadSelector,
    targetRef: policyTargetReference,
    targetRefs: array(policyTargetReference, { maxItems: 16 }),
    tracing: array(telemetryTracing),
    metrics: array(telemetryMetrics),
    accessLogging: array(telemetryAccessLogging),
  },
  {
    proto: "istio.telemetry.v1alpha1.Telemetry",
    rules: [
      {
        message: "only one of targetRefs or selector can be set",
        rule: "(has(self.selector) ? 1 : 0) + (has(self.targetRef) ? 1 : 0) + (has(self.targetRefs) ? 1 : 0) <= 1",
      },
    ],
  },
);
export type TelemetrySpec = Infer<typeof telemetrySpec>;

export const telemetry = defineKind({
  group: "telemetry.istio.io",
  versions: [
    { name: "v1", served: true, storage: false },
    { name: "v1alpha1", served: true, storage: true },
  ],
  kind: "Telemetry",
  plural: "telemetries",
  shortNames: ["telemetry"],
  categories: ["istio-io", "telemetry-istio-io"],
  scope: "Namespaced",
  printerColumns: [{ name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" }],
  spec: telemetrySpec,
  status: istioStatus,
  crdLabels: { app: "istio-pilot", chart: "istio", heritage: "Tiller", istio: "telemetry", release: "istio" },
  encoding: "protobuf",
});
