/** MeshConfig: the settings of the whole mesh. */
import { extensionProvider } from "./extension-provider.ts";
import { httpRetry } from "./http-policy.ts";
import { localityLoadBalancerSetting, zoneAwareLoadBalancerSetting } from "./load-balancer.ts";
import { proxyConfigValues } from "./proxy-config-values.ts";
import { array, boolean, duration, enumOf, type Infer, int32, map, object, string } from "./schema.ts";
import {
  clientTLSSettings,
  connectionPoolSettings,
  connectionPoolTcpKeepalive,
  outlierDetection,
} from "./traffic-policy.ts";

const meshConfigOutboundTrafficPolicy = object(
  {
    mode: enumOf(["REGISTRY_ONLY", "ALLOW_ANY", "ALLOW_ANY_DYNAMIC_DNS"], {
      numbers: [0, 1, 3],
      proto: "istio.mesh.v1alpha1.MeshConfig.OutboundTrafficPolicy.Mode",
    }),
    tls: clientTLSSettings,
  },
  { proto: "istio.mesh.v1alpha1.MeshConfig.OutboundTrafficPolicy" },
);
export type MeshConfigOutboundTrafficPolicy = Infer<typeof meshConfigOutboundTrafficPolicy>;

const meshConfigInboundTrafficPolicy = object(
  { mode: enumOf(["PASSTHROUGH", "LOCALHOST"], { proto: "istio.mesh.v1alpha1.MeshConfig.InboundTrafficPolicy.Mode" }) },
  { proto: "istio.mesh.v1alpha1.MeshConfig.InboundTrafficPolicy" },
);
export type MeshConfigInboundTrafficPolicy = Infer<typeof meshConfigInboundTrafficPolicy>;

const configSource = object(
  {
    address: string(),
    tlsSettings: clientTLSSettings,
    subscribedResources: array(enumOf(["SERVICE_REGISTRY"], { proto: "istio.mesh.v1alpha1.Resource" })),
  },
  { proto: "istio.mesh.v1alpha1.ConfigSource" },
);
export type ConfigSource = Infer<typeof configSource>;

const meshConfigCertificateData = object(
  { pem: string(), spiffeBundleUrl: string(), certSigners: array(string()), trustDomains: array(string()) },
  { proto: "istio.mesh.v1alpha1.MeshConfig.CertificateData", oneOf: [["pem", "spiffeBundleUrl"]] },
);
export type MeshConfigCertificateData = Infer<typeof meshConfigCertificateData>;

const meshCertificate = object(
  { secretName: string(), dnsNames: array(string()) },
  { proto: "istio.mesh.v1alpha1.Certificate" },
);
export type MeshCertificate = Infer<typeof meshCertificate>;

const meshConfigServiceSettingsSettings = object(
  { clusterLocal: boolean() },
  { proto: "istio.mesh.v1alpha1.MeshConfig.ServiceSettings.Settings" },
);
export type MeshConfigServiceSettingsSettings = Infer<typeof meshConfigServiceSettingsSettings>;

const meshConfigServiceSettings = object(
  { settings: meshConfigServiceSettingsSettings, hosts: array(string()) },
  { proto: "istio.mesh.v1alpha1.MeshConfig.ServiceSettings" },
);
export type MeshConfigServiceSettings = Infer<typeof meshConfigServiceSettings>;

const labelSelectorRequirement = object(
  { key: string(), operator: string(), values: array(string()) },
  { proto: "istio.mesh.v1alpha1.LabelSelectorRequirement" },
);
export type LabelSelectorRequirement = Infer<typeof labelSelectorRequirement>;

const meshLabelSelector = object(
  { matchLabels: map(string()), matchExpressions: array(labelSelectorRequirement) },
  { proto: "istio.mesh.v1alpha1.LabelSelector" },
);
export type MeshLabelSelector = Infer<typeof meshLabelSelector>;

const meshConfigServiceScopeConfigs = object(
  {
    namespaceSelector: meshLabelSelector,
    servicesSelector: meshLabelSelector,
    scope: enumOf(["LOCAL", "GLOBAL"], { proto: "istio.mesh.v1alpha1.MeshConfig.ServiceScopeConfigs.Scope" }),
  },
  { proto: "istio.mesh.v1alpha1.MeshConfig.ServiceScopeConfigs" },
);
export type MeshConfigServiceScopeConfigs = Infer<typeof meshConfigServiceScopeConfigs>;

const meshConfigCA = object(
  { address: string(), tlsSettings: clientTLSSettings, requestTimeout: duration({ rules: [] }), istiodSide: boolean() },
  { proto: "istio.mesh.v1alpha1.MeshConfig.CA" },
);
export type MeshConfigCA = Infer<typeof meshConfigCA>;

const meshConfigDefaultProviders = object(
  { tracing: array(string()), metrics: array(string()), accessLogging: array(string()) },
  { proto: "istio.mesh.v1alpha1.MeshConfig.DefaultProviders" },
);
export type MeshConfigDefaultProviders = Infer<typeof meshConfigDefaultProviders>;

const meshConfigProxyPathNormalization = object(
  {
    normalization: enumOf(["DEFAULT", "NONE", "BASE", "MERGE_SLASHES", "DECODE_AND_MERGE_SLASHES"], {
      proto: "istio.mesh.v1alpha1.MeshConfig.ProxyPathNormalization.NormalizationType",
    }),
  },
  { proto: "istio.mesh.v1alpha1.MeshConfig.ProxyPathNormalization" },
);
export type MeshConfigProxyPathNormalization = Infer<typeof meshConfigProxyPathNormalization>;

const meshConfigTLSConfig = object(
  {
    minProtocolVersion: enumOf(["TLS_AUTO", "TLSV1_2", "TLSV1_3"], {
      proto: "istio.mesh.v1alpha1.MeshConfig.TLSConfig.TLSProtocol",
    }),
    ecdhCurves: array(string()),
    cipherSuites: array(string()),
  },
  { proto: "istio.mesh.v1alpha1.MeshConfig.TLSConfig" },
);
export type MeshConfigTLSConfig = Infer<typeof meshConfigTLSConfig>;

const meshConfigDefaultTrafficPolicy = object(
  { connectionPool: connectionPoolSettings, outlierDetection },
  { proto: "istio.mesh.v1alpha1.MeshConfig.DefaultTrafficPolicy" },
);
export type MeshConfigDefaultTrafficPolicy = Infer<typeof meshConfigDefaultTrafficPolicy>;

const serviceEntryVisibilityMatchRule = object(
  { namespaceSelector: meshLabelSelector },
  { proto: "istio.mesh.v1alpha1.ServiceEntryVisibility.MatchRule", oneOf: [["namespaceSelector"]] },
);
export type ServiceEntryVisibilityMatchRule = Infer<typeof serviceEntryVisibilityMatchRule>;

const serviceEntryVisibilityPolicy = object(
  {
    visibility: enumOf(["VISIBILITY_UNSPECIFIED", "NONE", "NAMESPACE", "PUBLIC"], {
      proto: "istio.mesh.v1alpha1.ServiceEntryVisibility.Visibility",
    }),
    matchingRules: array(serviceEntryVisibilityMatchRule),
  },
  { proto: "istio.mesh.v1alpha1.ServiceEntryVisibility.Policy" },
);
export type ServiceEntryVisibilityPolicy = Infer<typeof serviceEntryVisibilityPolicy>;

const serviceEntryVisibility = object(
  {
    defaultVisibility: enumOf(["VISIBILITY_UNSPECIFIED", "NONE", "NAMESPACE", "PUBLIC"], {
      proto: "istio.mesh.v1alpha1.ServiceEntryVisibility.Visibility",
    }),
    applyToSidecars: boolean(),
    policies: array(serviceEntryVisibilityPolicy),
  },
  { proto: "istio.mesh.v1alpha1.ServiceEntryVisibility" },
);
export type ServiceEntryVisibility = Infer<typeof serviceEntryVisibility>;

export const meshConfigSpec = object(
  {
    proxyListenPort: int32(),
    proxyInboundListenPort: int32(),
    proxyHttpPort: int32(),
    connectTimeout: duration({ rules: [] }),
    hboneIdleTimeout: duration({ rules: [] }),
    protocolDetectionTimeout: duration({ rules: [] }),
    tcpKeepalive: connectionPoolTcpKeepalive,
    ingressClass: string(),
    ingressService: string(),
    ingressControllerMode: enumOf(["UNSPECIFIED", "OFF", "DEFAULT", "STRICT"], {
      proto: "istio.mesh.v1alpha1.MeshConfig.IngressControllerMode",
    }),
    ingressSelector: string(),
    enableTracing: boolean(),
    accessLogFile: string(),
    accessLogFormat: string(),
    accessLogEncoding: enumOf(["TEXT", "JSON"], { proto: "istio.mesh.v1alpha1.MeshConfig.AccessLogEncoding" }),
    enableEnvoyAccessLogService: boolean(),
    disableEnvoyListenerLog: boolean(),
    defaultConfig: proxyConfigValues,
    outboundTrafficPolicy: meshConfigOutboundTrafficPolicy,
    inboundTrafficPolicy: meshConfigInboundTrafficPolicy,
    configSources: array(configSource),
    enableAutoMtls: boolean(),
    trustDomain: string(),
    trustDomainAliases: array(string()),
    caCertificates: array(meshConfigCertificateData),
    defaultServiceExportTo: array(string()),
    defaultVirtualServiceExportTo: array(string()),
    defaultDestinationRuleExportTo: array(string()),
    rootNamespace: string(),
    localityLbSetting: localityLoadBalancerSetting,
    zoneAwareLbSetting: zoneAwareLoadBalancerSetting,
    dnsRefreshRate: duration({ rules: [] }),
    h2UpgradePolicy: enumOf(["DO_NOT_UPGRADE", "UPGRADE"], { proto: "istio.mesh.v1alpha1.MeshConfig.H2UpgradePolicy" }),
    inboundClusterStatName: string(),
    outboundClusterStatName: string(),
    certificates: array(meshCertificate),
    serviceSettings: array(meshConfigServiceSettings),
    serviceScopeConfigs: array(meshConfigServiceScopeConfigs),
    enablePrometheusMerge: boolean(),
    verifyCertificateAtClient: boolean(),
    ca: meshConfigCA,
    extensionProviders: array(extensionProvider),
    defaultProviders: meshConfigDefaultProviders,
    discoverySelectors: array(meshLabelSelector),
    pathNormalization: meshConfigProxyPathNormalization,
    defaultHttpRetryPolicy: httpRetry,
    defaultInboundHttpRetryPolicy: httpRetry,
    meshMTLS: meshConfigTLSConfig,
    tlsDefaults: meshConfigTLSConfig,
    defaultTrafficPolicy: meshConfigDefaultTrafficPolicy,
    serviceEntryVisibility,
  },
  { proto: "istio.mesh.v1alpha1.MeshConfig" },
);
export type MeshConfigSpec = Infer<typeof meshConfigSpec>;
