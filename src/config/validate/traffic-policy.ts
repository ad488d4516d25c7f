/** What a DestinationRule says of connections to a host: pools, outlier detection, tunnels, client TLS. */
import { parseDuration } from "../../lib/index.ts";
import type {
  ClientTLSSettings,
  ConnectionPoolHTTPSettings,
  ConnectionPoolSettings,
  ConnectionPoolTCPSettings,
  OutlierDetection,
  TrafficPolicy,
  TrafficPolicyPortTrafficPolicy,
  TrafficPolicyTunnelSettings,
} from "../../model/index.ts";
import { ipError } from "./addresses.ts";
import { checkLoadBalancer } from "./load-balancer.ts";
import { fqdnError, portError } from "./names.ts";
import { each, quote, type Report } from "./report.ts";
import { checkDuration, isSet, percentError } from "./values.ts";

const policyFields = [
  "outlierDetection",
  "connectionPool",
  "loadBalancer",
  "tls",
  "portLevelSettings",
  "tunnel",
  "proxyProtocol",
  "retryBudget",
] as const;

export function checkTrafficPolicy(report: Report, policy: TrafficPolicy | undefined, namespace: string): void {
  if (!policy) return;
  if (!policyFields.some((name) => isGiven(policy[name]))) {
    report.error("traffic policy must have at least one field");
    return;
  }
  if (policy.tunnel && policy.proxyProtocol) {
    report.error("tunnel and proxyProtocol must not be set together");
    return;
  }
  checkConnections(report, policy, namespace);
  // Of a port's own settings Istio keeps the errors only.
  each(report.quiet, "portLevelSettings", policy.portLevelSettings, (port, at) => checkPortPolicy(at, port, namespace));
  checkTunnel(report.at("tunnel"), policy.tunnel);
}

const isGiven = (value: unknown): boolean => value !== undefined && !(Array.isArray(value) && value.length === 0);

function checkConnections(report: Report, policy: TrafficPolicyPortTrafficPolicy, namespace: string): void {
  checkOutlierDetection(report.at("outlierDetection"), policy.outlierDetection);
  checkConnectionPool(report.at("connectionPool"), policy.connectionPool);
  checkLoadBalancer(report.at("loadBalancer"), policy.loadBalancer, policy.outlierDetection !== undefined);
  checkClientTls(report.at("tls"), policy.tls, namespace);
}

function checkPortPolicy(report: Report, policy: TrafficPolicyPortTrafficPolicy, namespace: string): void {
  if (!policy.port) report.error("portTrafficPolicy must have valid port");
  if (policy.outlierDetection || policy.connectionPool || policy.loadBalancer || policy.tls)
    checkConnections(report, policy, namespace);
  else report.error("port traffic policy must have at least one field");
}

function checkTunnel(report: Report, tunnel: TrafficPolicyTunnelSettings | undefined): void {
  if (!tunnel) return;
  const { protocol = "", targetHost = "", targetPort = 0 } = tunnel;
  if (!["", "CONNECT", "POST"].includes(protocol)) report.error('tunnel protocol must be "CONNECT" or "POST"');
  const [name, ip] = [fqdnError(targetHost), ipError(targetHost)];
  if (name && ip) report.error(`tunnel target host must be valid FQDN or IP address: ${name}; ${ip}`);
  const port = portError(targetPort);
  if (port) report.error(`tunnel target port is invalid: ${port}`);
}

export function checkOutlierDetection(report: Report, outlier: OutlierDetection | undefined): void {
  if (!outlier) return;
  checkDuration(report.at("baseEjectionTime"), outlier.baseEjectionTime);
  if (outlier.consecutiveErrors)
    report
      .at("consecutiveErrors")
      .warn(
        "outlier detection consecutive errors is deprecated, use consecutiveGatewayErrors or consecutive5xxErrors instead",
      );
  if (!outlier.splitExternalLocalOriginErrors && (outlier.consecutiveLocalOriginFailures ?? 0) > 0)
    report.error(
      "outlier detection consecutive local origin failures is specified, but split external local origin errors is set to false",
    );
  checkDuration(report.at("interval"), outlier.interval);
  report.at("maxEjectionPercent").error(percentError(outlier.maxEjectionPercent ?? 0));
  report.at("minHealthPercent").error(percentError(outlier.minHealthPercent ?? 0));
}

export function checkConnectionPool(report: Report, pool: ConnectionPoolSettings | undefined): void {
  if (!pool) return;
  if (!pool.http && !pool.tcp) report.error("connection pool must have at least one field");
  if (pool.http) checkHttpPool(report.at("http"), pool.http);
  if (pool.tcp) checkTcpPool(report.at("tcp"), pool.tcp);
}

const httpCounts = [
  ["http1MaxPendingRequests", "http1 max pending requests"],
  ["http2MaxRequests", "http2 max requests"],
  ["maxRequestsPerConnection", "max requests per connection"],
  ["maxRetries", "max retries"],
  ["maxConcurrentStreams", "max concurrent streams"],
] as const;

function checkHttpPool(report: Report, http: ConnectionPoolHTTPSettings): void {
  for (const [name, words] of httpCounts)
    if ((http[name] ?? 0) < 0) report.at(name).error(`${words} must be non-negative`);
  checkDuration(report.at("idleTimeout"), http.idleTimeout);
  if (http.h2UpgradePolicy === "UPGRADE" && http.useClientProtocol)
    report.error("use client protocol must not be true when H2UpgradePolicy is UPGRADE");
  if (!http.http2KeepAlive) return;
  for (const name of ["interval", "timeout"] as const) {
    const at = report.at("http2KeepAlive", name);
    if (http.http2KeepAlive[name] === undefined) at.error(`http2 keepalive ${name} is required`);
    checkDuration(at, http.http2KeepAlive[name]);
  }
}

function checkTcpPool(report: Report, tcp: ConnectionPoolTCPSettings): void {
  if ((tcp.maxConnections ?? 0) < 0) report.at("maxConnections").error("max connections must be non-negative");
  checkDuration(report.at("connectTimeout"), tcp.connectTimeout);
  checkDuration(report.at("maxConnectionDuration"), tcp.maxConnectionDuration);
  // Zero switches the timeout off.
  const idle = tcp.idleTimeout === undefined ? 0n : (parseDuration(tcp.idleTimeout) ?? 0n) / 1_000_000n;
  if (idle !== 0n) checkDuration(report.at("idleTimeout"), tcp.idleTimeout);
  checkDuration(report.at("tcpKeepalive", "time"), tcp.tcpKeepalive?.time);
  checkDuration(report.at("tcpKeepalive", "interval"), tcp.tcpKeepalive?.interval);
}

export function checkClientTls(report: Report, tls: ClientTLSSettings | undefined, namespace: string): void {
  if (!tls) return;
  const { mode = "DISABLE", credentialName = "" } = tls;
  if (credentialName.startsWith("configmap://")) report.error(configMapError(credentialName, namespace));
  if (tls.insecureSkipVerify) checkUnverified(report, tls, mode);
  if ((mode === "SIMPLE" || mode === "MUTUAL") && credentialName !== "") {
    if (isSet(tls.clientCertificate) || isSet(tls.caCertificates) || isSet(tls.privateKey) || isSet(tls.caCrl))
      report.error("cannot specify client certificates or CA certificate or CA CRL If credentialName is set");
    return;
  }
  if (mode !== "MUTUAL") return;
  if (!isSet(tls.clientCertificate)) report.error("client certificate required for mutual tls");
  if (!isSet(tls.privateKey)) report.error("private key required for mutual tls");
}

function checkUnverified(report: Report, tls: ClientTLSSettings, mode: string): void {
  const names = (tls.subjectAltNames ?? []).length > 0;
  if (mode === "SIMPLE" && (isSet(tls.caCertificates) || isSet(tls.credentialName) || names))
    report.error(
      "cannot specify CaCertificates or CredentialName or SubjectAltNames when InsecureSkipVerify is set true",
    );
  if (mode === "MUTUAL" && (isSet(tls.caCertificates) || names))
    report.error("cannot specify CaCertificates or SubjectAltNames when InsecureSkipVerify is set true");
}

function configMapError(credential: string, namespace: string): string | undefined {
  const prefix = "invalid configmap:// credentialName: ";
  const [owner = "", name] = credential.slice("configmap://".length).split("/");
  if (name === undefined) return `${prefix}invalid resource name ${quote(credential)}. Expected namespace and name`;
  if (owner === "") return `${prefix}invalid resource name ${quote(credential)}. Expected namespace`;
  if (name === "") return `${prefix}invalid resource name ${quote(credential)}. Expected name`;
  if (owner === namespace && namespace !== "") return undefined;
  return `${prefix}namespace must match the configuration namespace ${quote(namespace)}`;
}
