/** ProxyConfig as MeshConfig, annotations and nodes carry it. */
import { proxyImage } from "./proxy-config.ts";
import {
  array,
  boolean,
  double,
  duration,
  enumOf,
  type Infer,
  int32,
  int64,
  map,
  object,
  string,
  uint32,
} from "./schema.ts";
import { clientTLSSettings, connectionPoolTcpKeepalive } from "./traffic-policy.ts";
import { readinessProbe } from "./workload-group.ts";

const proxyTracingZipkin = object({ address: string() }, { proto: "istio.mesh.v1alpha1.Tracing.Zipkin" });
export type ProxyTracingZipkin = Infer<typeof proxyTracingZipkin>;

const proxyTracingLightstep = object(
  { address: string(), accessToken: string() },
  { proto: "istio.mesh.v1alpha1.Tracing.Lightstep" },
);
export type ProxyTracingLightstep = Infer<typeof proxyTracingLightstep>;

const proxyTracingDatadog = object({ address: string() }, { proto: "istio.mesh.v1alpha1.Tracing.Datadog" });
export type ProxyTracingDatadog = Infer<typeof proxyTracingDatadog>;

const proxyTracingStackdriver = object(
  {
    debug: boolean(),
    maxNumberOfAttributes: int64(),
    maxNumberOfAnnotations: int64(),
    maxNumberOfMessageEvents: int64(),
  },
  { proto: "istio.mesh.v1alpha1.Tracing.Stackdriver" },
);
export type ProxyTracingStackdriver = Infer<typeof proxyTracingStackdriver>;

const proxyTracingOpenCensusAgent = object(
  {
    address: string(),
    context: array(
      enumOf(["UNSPECIFIED", "W3C_TRACE_CONTEXT", "GRPC_BIN", "CLOUD_TRACE_CONTEXT", "B3"], {
        proto: "istio.mesh.v1alpha1.Tracing.OpenCensusAgent.TraceContext",
      }),
    ),
  },
  { proto: "istio.mesh.v1alpha1.Tracing.OpenCensusAgent" },
);
export type ProxyTracingOpenCensusAgent = Infer<typeof proxyTracingOpenCensusAgent>;

const proxyTracingLiteral = object({ value: string() }, { proto: "istio.mesh.v1alpha1.Tracing.Literal" });
export type ProxyTracingLiteral = Infer<typeof proxyTracingLiteral>;

const proxyTracingEnvironment = object(
  { name: string(), defaultValue: string() },
  { proto: "istio.mesh.v1alpha1.Tracing.Environment" },
);
export type ProxyTracingEnvironment = Infer<typeof proxyTracingEnvironment>;

const proxyTracingRequestHeader = object(
  { name: string(), defaultValue: string() },
  { proto: "istio.mesh.v1alpha1.Tracing.RequestHeader" },
);
export type ProxyTracingRequestHeader = Infer<typeof proxyTracingRequestHeader>;

const proxyTracingCustomTag = object(
  { literal: proxyTracingLiteral, environment: proxyTracingEnvironment, header: proxyTracingRequestHeader },
  { proto: "istio.mesh.v1alpha1.Tracing.CustomTag", oneOf: [["literal", "environment", "header"]] },
);
export type ProxyTracingCustomTag = Infer<typeof proxyTracingCustomTag>;

const proxyTracing = object(
  {
    zipkin: proxyTracingZipkin,
    lightstep: proxyTracingLightstep,
    datadog: proxyTracingDatadog,
    stackdriver: proxyTracingStackdriver,
    openCensusAgent: proxyTracingOpenCensusAgent,
    customTags: map(proxyTracingCustomTag),
    maxPathTagLength: uint32(),
    sampling: double(),
    tlsSettings: clientTLSSettings,
    enableIstioTags: boolean(),
  },
  {
    proto: "istio.mesh.v1alpha1.Tracing",
    oneOf: [["zipkin", "lightstep", "datadog", "stackdriver", "openCensusAgent"]],
  },
);
export type ProxyTracing = Infer<typeof proxyTracing>;

const sds = object({ enabled: boolean(), k8sSaJwtPath: string() }, { proto: "istio.mesh.v1alpha1.SDS" });
export type SDS = Infer<typeof sds>;

const remoteService = object(
  { address: string(), tlsSettings: clientTLSSettings, tcpKeepalive: connectionPoolTcpKeepalive },
  { proto: "istio.mesh.v1alpha1.RemoteService" },
);
export type RemoteService = Infer<typeof remoteService>;

const topologyProxyProtocolConfiguration = object(
  {},
  { proto: "istio.mesh.v1alpha1.Topology.ProxyProtocolConfiguration" },
);
export type TopologyProxyProtocolConfiguration = Infer<typeof topologyProxyProtocolConfiguration>;

const topology = object(
  {
    numTrustedProxies: uint32(),
    forwardClientCertDetails: enumOf(
      ["UNDEFINED", "SANITIZE", "FORWARD_ONLY", "APPEND_FORWARD", "SANITIZE_SET", "ALWAYS_FORWARD_ONLY"],
      { proto: "istio.mesh.v1alpha1.ForwardClientCertDetails" },
    ),
    proxyProtocol: topologyProxyProtocolConfiguration,
  },
  { proto: "istio.mesh.v1alpha1.Topology" },
);
export type Topology = Infer<typeof topology>;

const proxyConfigProxyStatsMatcher = object(
  { inclusionPrefixes: array(string()), inclusionSuffixes: array(string()), inclusionRegexps: array(string()) },
  { proto: "istio.mesh.v1alpha1.ProxyConfig.ProxyStatsMatcher" },
);
export type ProxyConfigProxyStatsMatcher = Infer<typeof proxyConfigProxyStatsMatcher>;

const privateKeyProviderCryptoMb = object(
  { pollDelay: duration({ rules: [] }), fallback: boolean() },
  { proto: "istio.mesh.v1alpha1.PrivateKeyProvider.CryptoMb" },
);
export type PrivateKeyProviderCryptoMb = Infer<typeof privateKeyProviderCryptoMb>;

const privateKeyProviderQAT = object(
  { pollDelay: duration({ rules: [] }), fallback: boolean() },
  { proto: "istio.mesh.v1alpha1.PrivateKeyProvider.QAT" },
);
export type PrivateKeyProviderQAT = Infer<typeof privateKeyProviderQAT>;

const privateKeyProvider = object(
  { cryptomb: privateKeyProviderCryptoMb, qat: privateKeyProviderQAT },
  { proto: "istio.mesh.v1alpha1.PrivateKeyProvider", oneOf: [["cryptomb", "qat"]] },
);
export type PrivateKeyProvider = Infer<typeof privateKeyProvider>;

const proxyConfigProxyHeadersSetCurrentClientCertDetails = object(
  { subject: boolean(), cert: boolean(), chain: boolean(), dns: boolean(), uri: boolean() },
  { proto: "istio.mesh.v1alpha1.ProxyConfig.ProxyHeaders.SetCurrentClientCertDetails" },
);
export type ProxyConfigProxyHeadersSetCurrentClientCertDetails = Infer<
  typeof proxyConfigProxyHeadersSetCurrentClientCertDetails
>;

const proxyConfigProxyHeadersRequestId = object(
  { disabled: boolean() },
  { proto: "istio.mesh.v1alpha1.ProxyConfig.ProxyHeaders.RequestId" },
);
export type ProxyConfigProxyHeadersRequestId = Infer<typeof proxyConfigProxyHeadersRequestId>;

const proxyConfigProxyHeadersServer = object(
  { disabled: boolean(), value: string() },
  { proto: "istio.mesh.v1alpha1.ProxyConfig.ProxyHeaders.Server" },
);
export type ProxyConfigProxyHeadersServer = Infer<typeof proxyConfigProxyHeadersServer>;

const proxyConfigProxyHeadersAttemptCount = object(
  { disabled: boolean() },
  { proto: "istio.mesh.v1alpha1.ProxyConfig.ProxyHeaders.AttemptCount" },
);
export type ProxyConfigProxyHeadersAttemptCount = Infer<typeof proxyConfigProxyHeadersAttemptCount>;

const proxyConfigProxyHeadersEnvoyDebugHeaders = object(
  { disabled: boolean() },
  { proto: "istio.mesh.v1alpha1.ProxyConfig.ProxyHeaders.EnvoyDebugHeaders" },
);
export type ProxyConfigProxyHeadersEnvoyDebugHeaders = Infer<typeof proxyConfigProxyHeadersEnvoyDebugHeaders>;

const proxyConfigProxyHeadersMetadataExchangeHeaders = object(
  {
    mode: enumOf(["UNDEFINED", "IN_MESH"], {
      proto: "istio.mesh.v1alpha1.ProxyConfig.ProxyHeaders.MetadataExchangeMode",
    }),
  },
  { proto: "istio.mesh.v1alpha1.ProxyConfig.ProxyHeaders.MetadataExchangeHeaders" },
);
export type ProxyConfigProxyHeadersMetadataExchangeHeaders = Infer<
  typeof proxyConfigProxyHeadersMetadataExchangeHeaders
>;

const proxyConfigProxyHeadersXForwardedHost = object(
  { enabled: boolean() },
  { proto: "istio.mesh.v1alpha1.ProxyConfig.ProxyHeaders.XForwardedHost" },
);
export type ProxyConfigProxyHeadersXForwardedHost = Infer<typeof proxyConfigProxyHeadersXForwardedHost>;

const proxyConfigProxyHeadersXForwardedPort = object(
  { enabled: boolean() },
  { proto: "istio.mesh.v1alpha1.ProxyConfig.ProxyHeaders.XForwardedPort" },
);
export type ProxyConfigProxyHeadersXForwardedPort = Infer<typeof proxyConfigProxyHeadersXForwardedPort>;

const proxyConfigProxyHeaders = object(
  {
    forwardedClientCert: enumOf(
      ["UNDEFINED", "SANITIZE", "FORWARD_ONLY", "APPEND_FORWARD", "SANITIZE_SET", "ALWAYS_FORWARD_ONLY"],
      { proto: "istio.mesh.v1alpha1.ForwardClientCertDetails" },
    ),
    setCurrentClientCertDetails: proxyConfigProxyHeadersSetCurrentClientCertDetails,
    requestId: proxyConfigProxyHeadersRequestId,
    server: proxyConfigProxyHeadersServer,
    attemptCount: proxyConfigProxyHeadersAttemptCount,
    envoyDebugHeaders: proxyConfigProxyHeadersEnvoyDebugHeaders,
    metadataExchangeHeaders: proxyConfigProxyHeadersMetadataExchangeHeaders,
    preserveHttp1HeaderCase: boolean(),
    xForwardedHost: proxyConfigProxyHeadersXForwardedHost,
    xForwardedPort: proxyConfigProxyHeadersXForwardedPort,
  },
  { proto: "istio.mesh.v1alpha1.ProxyConfig.ProxyHeaders" },
);
export type ProxyConfigProxyHeaders = Infer<typeof proxyConfigProxyHeaders>;

const proxyConfigConnectionSettings = object(
  {
    profile: enumOf(["SIDECAR", "EDGE"], { proto: "istio.mesh.v1alpha1.ProxyConfig.ConnectionSettings.Profile" }),
    listenerPerConnectionBufferLimitBytes: int32(),
    clusterPerConnectionBufferLimitBytes: int32(),
    httpIdleTimeout: duration({ rules: [] }),
    httpMaxConnectionDuration: duration({ rules: [] }),
    httpDrainTimeout: duration({ rules: [] }),
    httpRequestTimeout: duration({ rules: [] }),
    httpRequestHeadersTimeout: duration({ rules: [] }),
    httpStreamIdleTimeout: duration({ rules: [] }),
    httpMaxStreamDuration: duration({ rules: [] }),
    httpMaxConcurrentStreams: int32(),
    http2InitialStreamWindowSize: int32(),
    http2InitialConnectionWindowSize: int32(),
    httpHeadersWithUnderscoresAction: enumOf(
      [
        "HEADERS_WITH_UNDERSCORES_UNSPECIFIED",
        "HEADERS_WITH_UNDERSCORES_ALLOW",
        "HEADERS_WITH_UNDERSCORES_REJECT_REQUEST",
        "HEADERS_WITH_UNDERSCORES_DROP_HEADER",
      ],
      { proto: "istio.mesh.v1alpha1.ProxyConfig.ConnectionSettings.HeadersWithUnderscoresAction" },
    ),
    httpMergeSlashes: boolean(),
    httpPathWithEscapedSlashesAction: enumOf(
      [
        "PATH_WITH_ESCAPED_SLASHES_UNSPECIFIED",
        "KEEP_UNCHANGED",
        "REJECT_REQUEST",
        "UNESCAPE_AND_REDIRECT",
        "UNESCAPE_AND_FORWARD",
      ],
      { proto: "istio.mesh.v1alpha1.ProxyConfig.ConnectionSettings.PathWithEscapedSlashesAction" },
    ),
    listenerConnectionLimit: int32(),
    globalDownstreamConnectionLimit: int32(),
  },
  { proto: "istio.mesh.v1alpha1.ProxyConfig.ConnectionSettings" },
);
export type ProxyConfigConnectionSettings = Infer<typeof proxyConfigConnectionSettings>;

export const proxyConfigValues = object(
  {
    configPath: string(),
    binaryPath: string(),
    serviceCluster: string(),
    tracingServiceName: enumOf(["APP_LABEL_AND_NAMESPACE", "CANONICAL_NAME_ONLY", "CANONICAL_NAME_AND_NAMESPACE"], {
      proto: "istio.mesh.v1alpha1.ProxyConfig.TracingServiceName",
    }),
    drainDuration: duration({ rules: [] }),
    discoveryAddress: string(),
    discoveryRefreshDelay: duration({ rules: [] }),
    zipkinAddress: string(),
    statsdUdpAddress: string(),
    envoyMetricsServiceAddress: string(),
    proxyAdminPort: int32(),
    availabilityZone: string(),
    controlPlaneAuthPolicy: enumOf(["NONE", "MUTUAL_TLS", "INHERIT"], {
      numbers: [0, 1, 1000],
      proto: "istio.mesh.v1alpha1.AuthenticationPolicy",
    }),
    customConfigFile: string(),
    statNameLength: int32(),
    concurrency: int32(),
    proxyBootstrapTemplatePath: string(),
    interceptionMode: enumOf(["REDIRECT", "TPROXY", "NONE"], {
      proto: "istio.mesh.v1alpha1.ProxyConfig.InboundInterceptionMode",
    }),
    tracing: proxyTracing,
    sds,
    envoyAccessLogService: remoteService,
    envoyMetricsService: remoteService,
    proxyMetadata: map(string()),
    runtimeValues: map(string()),
    statusPort: int32(),
    extraStatTags: array(string()),
    gatewayTopology: topology,
    terminationDrainDuration: duration({ rules: [] }),
    meshId: string(),
    readinessProbe,
    proxyStatsMatcher: proxyConfigProxyStatsMatcher,
    holdApplicationUntilProxyStarts: boolean(),
    caCertificatesPem: array(string()),
    image: proxyImage,
    privateKeyProvider,
    proxyHeaders: proxyConfigProxyHeaders,
    fileFlushInterval: duration({ rules: [] }),
    fileFlushMinSizeKb: uint32(),
    statsCompression: boolean(),
    connectionSettings: proxyConfigConnectionSettings,
  },
  { proto: "istio.mesh.v1alpha1.ProxyConfig", oneOf: [["serviceCluster", "tracingServiceName"]] },
);
export type ProxyConfigValues = Infer<typeof proxyConfigValues>;
