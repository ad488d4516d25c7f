/** Connection pools, outlier detection and client TLS of a destination. */
import { loadBalancerSettings } from "./load-balancer.ts";
import { array, boolean, double, duration, enumOf, type Infer, int32, object, string, uint32 } from "./schema.ts";
import { portSelector } from "./virtual-service.ts";

export const connectionPoolTcpKeepalive = object(
  { probes: uint32(), time: duration(), interval: duration() },
  { proto: "istio.networking.v1alpha3.ConnectionPoolSettings.TCPSettings.TcpKeepalive" },
);
export type ConnectionPoolTcpKeepalive = Infer<typeof connectionPoolTcpKeepalive>;

const connectionPoolTCPSettings = object(
  {
    maxConnections: int32(),
    connectTimeout: duration(),
    tcpKeepalive: connectionPoolTcpKeepalive,
    maxConnectionDuration: duration(),
    idleTimeout: duration({ rules: [] }),
  },
  { proto: "istio.networking.v1alpha3.ConnectionPoolSettings.TCPSettings" },
);
export type ConnectionPoolTCPSettings = Infer<typeof connectionPoolTCPSettings>;

const connectionPoolHttpKeepalive = object(
  { interval: duration(), timeout: duration() },
  { proto: "istio.networking.v1alpha3.ConnectionPoolSettings.HTTPSettings.ConnectionKeepalive" },
);
export type ConnectionPoolHttpKeepalive = Infer<typeof connectionPoolHttpKeepalive>;

const connectionPoolHTTPSettings = object(
  {
    http1MaxPendingRequests: int32(),
    http2MaxRequests: int32(),
    maxRequestsPerConnection: int32(),
    maxRetries: int32(),
    idleTimeout: duration(),
    h2UpgradePolicy: enumOf(["DEFAULT", "DO_NOT_UPGRADE", "UPGRADE"], {
      proto: "istio.networking.v1alpha3.ConnectionPoolSettings.HTTPSettings.H2UpgradePolicy",
    }),
    useClientProtocol: boolean(),
    maxConcurrentStreams: int32(),
    http2KeepAlive: connectionPoolHttpKeepalive,
  },
  { proto: "istio.networking.v1alpha3.ConnectionPoolSettings.HTTPSettings" },
);
export type ConnectionPoolHTTPSettings = Infer<typeof connectionPoolHTTPSettings>;

export const connectionPoolSettings = object(
  { tcp: connectionPoolTCPSettings, http: connectionPoolHTTPSettings },
  { proto: "istio.networking.v1alpha3.ConnectionPoolSettings" },
);
export type ConnectionPoolSettings = Infer<typeof connectionPoolSettings>;

export const outlierDetection = object(
  {
    consecutiveErrors: int32(),
    splitExternalLocalOriginErrors: boolean(),
    consecutiveLocalOriginFailures: uint32({ nullable: true }),
    consecutiveGatewayErrors: uint32({ nullable: true }),
    consecutive5xxErrors: uint32({ nullable: true }),
    interval: duration(),
    baseEjectionTime: duration(),
    maxEjectionPercent: int32(),
    minHealthPercent: int32(),
    outlierDetectionHttpErrorCodes: array(uint32({ minimum: 100, maximum: 599 })),
  },
  { proto: "istio.networking.v1alpha3.OutlierDetection" },
);
export type OutlierDetection = Infer<typeof outlierDetection>;

export const clientTLSSettings = object(
  {
    mode: enumOf(["DISABLE", "SIMPLE", "MUTUAL", "ISTIO_MUTUAL"], {
      proto: "istio.networking.v1alpha3.ClientTLSSettings.TLSmode",
    }),
    clientCertificate: string(),
    privateKey: string(),
    caCertificates: string(),
    credentialName: string(),
    subjectAltNames: array(string()),
    sni: string(),
    insecureSkipVerify: boolean({ nullable: true }),
    caCrl: string(),
  },
  { proto: "istio.networking.v1alpha3.ClientTLSSettings" },
);
export type ClientTLSSettings = Infer<typeof clientTLSSettings>;

const trafficPolicyPortTrafficPolicy = object(
  {
    port: portSelector,
    loadBalancer: loadBalancerSettings,
    connectionPool: connectionPoolSettings,
    outlierDetection,
    tls: clientTLSSettings,
  },
  { proto: "istio.networking.v1alpha3.TrafficPolicy.PortTrafficPolicy" },
);
export type TrafficPolicyPortTrafficPolicy = Infer<typeof trafficPolicyPortTrafficPolicy>;

const trafficPolicyTunnelSettings = object(
  { protocol: string(), targetHost: string(), targetPort: uint32() },
  { proto: "istio.networking.v1alpha3.TrafficPolicy.TunnelSettings", required: ["targetHost", "targetPort"] },
);
export type TrafficPolicyTunnelSettings = Infer<typeof trafficPolicyTunnelSettings>;

const trafficPolicyProxyProtocol = object(
  { version: enumOf(["V1", "V2"], { proto: "istio.networking.v1alpha3.TrafficPolicy.ProxyProtocol.VERSION" }) },
  { proto: "istio.networking.v1alpha3.TrafficPolicy.ProxyProtocol" },
);
export type TrafficPolicyProxyProtocol = Infer<typeof trafficPolicyProxyProtocol>;

const trafficPolicyRetryBudget = object(
  {
    percent: double({ nullable: true, minimum: 0, maximum: 100 }),
    minRetryConcurrency: uint32(),
    budgetInterval: duration({ rules: [] }),
  },
  { proto: "istio.networking.v1alpha3.TrafficPolicy.RetryBudget" },
);
export type TrafficPolicyRetryBudget = Infer<typeof trafficPolicyRetryBudget>;

export const trafficPolicy = object(
  {
    loadBalancer: loadBalancerSettings,
    connectionPool: connectionPoolSettings,
    outlierDetection,
    tls: clientTLSSettings,
    portLevelSettings: array(trafficPolicyPortTrafficPolicy, { maxItems: 4096 }),
    tunnel: trafficPolicyTunnelSettings,
    proxyProtocol: trafficPolicyProxyProtocol,
    retryBudget: trafficPolicyRetryBudget,
  },
  { proto: "istio.networking.v1alpha3.TrafficPolicy" },
);
export type TrafficPolicy = Infer<typeof trafficPolicy>;
