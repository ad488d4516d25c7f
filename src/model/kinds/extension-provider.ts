/** The extension providers that MeshConfig declares. */
import {
  array,
  boolean,
  duration,
  enumOf,
  type Infer,
  int32,
  int64,
  map,
  object,
  string,
  struct,
  uint32,
} from "./schema.ts";

const extensionProviderEnvoyExternalAuthorizationRequestBody = object(
  { maxRequestBytes: uint32(), allowPartialMessage: boolean(), packAsBytes: boolean() },
  { proto: "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.EnvoyExternalAuthorizationRequestBody" },
);
export type ExtensionProviderEnvoyExternalAuthorizationRequestBody = Infer<
  typeof extensionProviderEnvoyExternalAuthorizationRequestBody
>;

const extensionProviderEnvoyExternalAuthorizationHttpProvider = object(
  {
    service: string(),
    port: uint32(),
    timeout: duration({ rules: [] }),
    pathPrefix: string(),
    failOpen: boolean(),
    clearRouteCache: boolean(),
    statusOnError: string(),
    includeHeadersInCheck: array(string()),
    includeRequestHeadersInCheck: array(string()),
    includeAdditionalHeadersInCheck: map(string()),
    includeRequestBodyInCheck: extensionProviderEnvoyExternalAuthorizationRequestBody,
    headersToUpstreamOnAllow: array(string()),
    headersToDownstreamOnDeny: array(string()),
    headersToDownstreamOnAllow: array(string()),
  },
  { proto: "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.EnvoyExternalAuthorizationHttpProvider" },
);
export type ExtensionProviderEnvoyExternalAuthorizationHttpProvider = Infer<
  typeof extensionProviderEnvoyExternalAuthorizationHttpProvider
>;

const extensionProviderEnvoyExternalAuthorizationGrpcProvider = object(
  {
    service: string(),
    port: uint32(),
    timeout: duration({ rules: [] }),
    failOpen: boolean(),
    clearRouteCache: boolean(),
    statusOnError: string(),
    includeRequestBodyInCheck: extensionProviderEnvoyExternalAuthorizationRequestBody,
  },
  { proto: "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.EnvoyExternalAuthorizationGrpcProvider" },
);
export type ExtensionProviderEnvoyExternalAuthorizationGrpcProvider = Infer<
  typeof extensionProviderEnvoyExternalAuthorizationGrpcProvider
>;

const extensionProviderHttpHeader = object(
  { name: string(), value: string(), envName: string() },
  { proto: "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.HttpHeader", oneOf: [["value", "envName"]] },
);
export type ExtensionProviderHttpHeader = Infer<typeof extensionProviderHttpHeader>;

const extensionProviderZipkinTracingProvider = object(
  {
    service: string(),
    port: uint32(),
    maxTagLength: uint32(),
    enable64bitTraceId: boolean(),
    path: string(),
    traceContextOption: enumOf(["USE_B3", "USE_B3_WITH_W3C_PROPAGATION"], {
      proto: "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.ZipkinTracingProvider.TraceContextOption",
    }),
    timeout: duration({ rules: [] }),
    headers: array(extensionProviderHttpHeader),
  },
  { proto: "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.ZipkinTracingProvider" },
);
export type ExtensionProviderZipkinTracingProvider = Infer<typeof extensionProviderZipkinTracingProvider>;

const extensionProviderLightstepTracingProvider = object(
  { service: string(), port: uint32(), accessToken: string(), maxTagLength: uint32() },
  { proto: "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.LightstepTracingProvider" },
);
export type ExtensionProviderLightstepTracingProvider = Infer<typeof extensionProviderLightstepTracingProvider>;

const extensionProviderDatadogTracingProvider = object(
  { service: string(), port: uint32(), maxTagLength: uint32() },
  { proto: "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.DatadogTracingProvider" },
);
export type ExtensionProviderDatadogTracingProvider = Infer<typeof extensionProviderDatadogTracingProvider>;

const extensionProviderStackdriverProviderLogging = object(
  { labels: map(string()) },
  { proto: "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.StackdriverProvider.Logging" },
);
export type ExtensionProviderStackdriverProviderLogging = Infer<typeof extensionProviderStackdriverProviderLogging>;

const extensionProviderStackdriverProvider = object(
  {
    debug: boolean(),
    maxNumberOfAttributes: int64(),
    maxNumberOfAnnotations: int64(),
    maxNumberOfMessageEvents: int64(),
    maxTagLength: uint32(),
    logging: extensionProviderStackdriverProviderLogging,
  },
  { proto: "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.StackdriverProvider" },
);
export type ExtensionProviderStackdriverProvider = Infer<typeof extensionProviderStackdriverProvider>;

const extensionProviderOpenCensusAgentTracingProvider = object(
  {
    service: string(),
    port: uint32(),
    context: array(
      enumOf(["UNSPECIFIED", "W3C_TRACE_CONTEXT", "GRPC_BIN", "CLOUD_TRACE_CONTEXT", "B3"], {
        proto: "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.OpenCensusAgentTracingProvider.TraceContext",
      }),
    ),
    maxTagLength: uint32(),
  },
  { proto: "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.OpenCensusAgentTracingProvider" },
);
export type ExtensionProviderOpenCensusAgentTracingProvider = Infer<
  typeof extensionProviderOpenCensusAgentTracingProvider
>;

const extensionProviderSkyWalkingTracingProvider = object(
  { service: string(), port: uint32(), accessToken: string() },
  { proto: "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.SkyWalkingTracingProvider" },
);
export type ExtensionProviderSkyWalkingTracingProvider = Infer<typeof extensionProviderSkyWalkingTracingProvider>;

const extensionProviderHttpService = object(
  { path: string(), timeout: duration({ rules: [] }), headers: array(extensionProviderHttpHeader) },
  { proto: "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.HttpService" },
);
export type ExtensionProviderHttpService = Infer<typeof extensionProviderHttpService>;

const extensionProviderGrpcService = object(
  { timeout: duration({ rules: [] }), initialMetadata: array(extensionProviderHttpHeader) },
  { proto: "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.GrpcService" },
);
export type ExtensionProviderGrpcService = Infer<typeof extensionProviderGrpcService>;

const extensionProviderResourceDetectorsEnvironmentResourceDetector = object(
  {},
  { proto: "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.ResourceDetectors.EnvironmentResourceDetector" },
);
export type ExtensionProviderResourceDetectorsEnvironmentResourceDetector = Infer<
  typeof extensionProviderResourceDetectorsEnvironmentResourceDetector
>;

const extensionProviderResourceDetectorsDynatraceResourceDetector = object(
  {},
  { proto: "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.ResourceDetectors.DynatraceResourceDetector" },
);
export type ExtensionProviderResourceDetectorsDynatraceResourceDetector = Infer<
  typeof extensionProviderResourceDetectorsDynatraceResourceDetector
>;

const extensionProviderResourceDetectors = object(
  {
    environment: extensionProviderResourceDetectorsEnvironmentResourceDetector,
    dynatrace: extensionProviderResourceDetectorsDynatraceResourceDetector,
  },
  { proto: "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.ResourceDetectors" },
);
export type ExtensionProviderResourceDetectors = Infer<typeof extensionProviderResourceDetectors>;

const extensionProviderOpenTelemetryTracingProviderDynatraceSamplerDynatraceApi = object(
  { service: string(), port: uint32(), http: extensionProviderHttpService },
  {
    proto:
      "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.OpenTelemetryTracingProvider.DynatraceSampler.DynatraceApi",
  },
);
export type ExtensionProviderOpenTelemetryTracingProviderDynatraceSamplerDynatraceApi = Infer<
  typeof extensionProviderOpenTelemetryTracingProviderDynatraceSamplerDynatraceApi
>;

const extensionProviderOpenTelemetryTracingProviderDynatraceSampler = object(
  {
    tenant: string(),
    clusterId: int32(),
    rootSpansPerMinute: uint32(),
    httpService: extensionProviderOpenTelemetryTracingProviderDynatraceSamplerDynatraceApi,
  },
  { proto: "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.OpenTelemetryTracingProvider.DynatraceSampler" },
);
export type ExtensionProviderOpenTelemetryTracingProviderDynatraceSampler = Infer<
  typeof extensionProviderOpenTelemetryTracingProviderDynatraceSampler
>;

const extensionProviderOpenTelemetryTracingProvider = object(
  {
    service: string(),
    port: uint32(),
    maxTagLength: uint32(),
    http: extensionProviderHttpService,
    grpc: extensionProviderGrpcService,
    resourceDetectors: extensionProviderResourceDetectors,
    serviceAttributeEnrichment: enumOf(["ISTIO_CANONICAL", "OTEL_SEMANTIC_CONVENTIONS"], {
      proto: "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.ServiceAttributeEnrichment",
    }),
    dynatraceSampler: extensionProviderOpenTelemetryTracingProviderDynatraceSampler,
  },
  {
    proto: "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.OpenTelemetryTracingProvider",
    oneOf: [["dynatraceSampler"]],
  },
);
export type ExtensionProviderOpenTelemetryTracingProvider = Infer<typeof extensionProviderOpenTelemetryTracingProvider>;

const extensionProviderPrometheusMetricsProvider = object(
  {},
  { proto: "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.PrometheusMetricsProvider" },
);
export type ExtensionProviderPrometheusMetricsProvider = Infer<typeof extensionProviderPrometheusMetricsProvider>;

const extensionProviderEnvoyFileAccessLogProviderLogFormat = object(
  { text: string(), labels: struct() },
  {
    proto: "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.EnvoyFileAccessLogProvider.LogFormat",
    oneOf: [["text", "labels"]],
  },
);
export type ExtensionProviderEnvoyFileAccessLogProviderLogFormat = Infer<
  typeof extensionProviderEnvoyFileAccessLogProviderLogFormat
>;

const extensionProviderEnvoyFileAccessLogProvider = object(
  { path: string(), logFormat: extensionProviderEnvoyFileAccessLogProviderLogFormat, omitEmptyValues: boolean() },
  { proto: "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.EnvoyFileAccessLogProvider" },
);
export type ExtensionProviderEnvoyFileAccessLogProvider = Infer<typeof extensionProviderEnvoyFileAccessLogProvider>;

const extensionProviderEnvoyHttpGrpcV3LogProvider = object(
  {
    service: string(),
    port: uint32(),
    logName: string(),
    filterStateObjectsToLog: array(string()),
    additionalRequestHeadersToLog: array(string()),
    additionalResponseHeadersToLog: array(string()),
    additionalResponseTrailersToLog: array(string()),
  },
  { proto: "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.EnvoyHttpGrpcV3LogProvider" },
);
export type ExtensionProviderEnvoyHttpGrpcV3LogProvider = Infer<typeof extensionProviderEnvoyHttpGrpcV3LogProvider>;

const extensionProviderEnvoyTcpGrpcV3LogProvider = object(
  { service: string(), port: uint32(), logName: string(), filterStateObjectsToLog: array(string()) },
  { proto: "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.EnvoyTcpGrpcV3LogProvider" },
);
export type ExtensionProviderEnvoyTcpGrpcV3LogProvider = Infer<typeof extensionProviderEnvoyTcpGrpcV3LogProvider>;

const extensionProviderEnvoyOpenTelemetryLogProviderLogFormat = object(
  { text: string(), labels: struct() },
  { proto: "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.EnvoyOpenTelemetryLogProvider.LogFormat" },
);
export type ExtensionProviderEnvoyOpenTelemetryLogProviderLogFormat = Infer<
  typeof extensionProviderEnvoyOpenTelemetryLogProviderLogFormat
>;

const extensionProviderEnvoyOpenTelemetryLogProvider = object(
  {
    service: string(),
    port: uint32(),
    logName: string(),
    logFormat: extensionProviderEnvoyOpenTelemetryLogProviderLogFormat,
  },
  { proto: "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.EnvoyOpenTelemetryLogProvider" },
);
export type ExtensionProviderEnvoyOpenTelemetryLogProvider = Infer<
  typeof extensionProviderEnvoyOpenTelemetryLogProvider
>;

const extensionProviderSDSProvider = object(
  { name: string(), service: string(), port: uint32() },
  { proto: "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.SDSProvider" },
);
export type ExtensionProviderSDSProvider = Infer<typeof extensionProviderSDSProvider>;

export const extensionProvider = object(
  {
    name: string(),
    envoyExtAuthzHttp: extensionProviderEnvoyExternalAuthorizationHttpProvider,
    envoyExtAuthzGrpc: extensionProviderEnvoyExternalAuthorizationGrpcProvider,
    zipkin: extensionProviderZipkinTracingProvider,
    lightstep: extensionProviderLightstepTracingProvider,
    datadog: extensionProviderDatadogTracingProvider,
    stackdriver: extensionProviderStackdriverProvider,
    opencensus: extensionProviderOpenCensusAgentTracingProvider,
    skywalking: extensionProviderSkyWalkingTracingProvider,
    opentelemetry: extensionProviderOpenTelemetryTracingProvider,
    prometheus: extensionProviderPrometheusMetricsProvider,
    envoyFileAccessLog: extensionProviderEnvoyFileAccessLogProvider,
    envoyHttpAls: extensionProviderEnvoyHttpGrpcV3LogProvider,
    envoyTcpAls: extensionProviderEnvoyTcpGrpcV3LogProvider,
    envoyOtelAls: extensionProviderEnvoyOpenTelemetryLogProvider,
    sds: extensionProviderSDSProvider,
  },
  {
    proto: "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider",
    oneOf: [
      [
        "envoyExtAuthzHttp",
        "envoyExtAuthzGrpc",
        "zipkin",
        "lightstep",
        "datadog",
        "stackdriver",
        "opencensus",
        "skywalking",
        "opentelemetry",
        "prometheus",
        "envoyFileAccessLog",
        "envoyHttpAls",
        "envoyTcpAls",
        "envoyOtelAls",
        "sds",
      ],
    ],
  },
);
export type ExtensionProvider = Infer<typeof extensionProvider>;
