/** A Sidecar in, what istiod's webhook says of it into the report. */
import {
  type IstioEgressListener,
  type IstioIngressListener,
  isHttp,
  isSniffed,
  isTls,
  type OutboundTrafficPolicy,
  parseProtocol,
  type SidecarPort,
  type SidecarSpec,
} from "../../model/index.ts";
import { ipError, unixPathError, unixPrefix } from "./addresses.ts";
import type { Check } from "./check.ts";
import { checkDestination } from "./destination.ts";
import { checkScopedHost } from "./host.ts";
import { fqdnError, portError, portNameError } from "./names.ts";
import { each, quote, type Report } from "./report.ts";
import { checkLabelSelector } from "./selector.ts";
import { checkServerTls } from "./server-tls.ts";
import { checkConnectionPool } from "./traffic-policy.ts";
import { isSet } from "./values.ts";

export const checkSidecar: Check<SidecarSpec> = (report, spec, { namespace }) => {
  if (!checkLabelSelector(report.at("workloadSelector"), spec.workloadSelector, "sidecar")) return;
  const { egress = [], ingress = [] } = spec;
  if (egress.length === 0 && ingress.length === 0 && !spec.outboundTrafficPolicy && !spec.inboundConnectionPool) {
    report.error("sidecar: empty configuration provided");
    return;
  }
  const ports = new Set<number>();
  each(report, "ingress", ingress, (listener, at) => checkIngress(at, listener, ports));
  checkConnectionPool(report.at("inboundConnectionPool"), spec.inboundConnectionPool);
  checkEgressListeners(report, egress, namespace);
  checkOutboundPolicy(report.at("outboundTrafficPolicy"), spec.outboundTrafficPolicy);
};

export const protocolError = (protocol: string): string | undefined =>
  protocol !== "" && isSniffed(parseProtocol(protocol)) ? `unsupported protocol: ${protocol}` : undefined;

function checkIngress(report: Report, listener: IstioIngressListener, ports: Set<number>): void {
  const { port, bind = "", defaultEndpoint = "" } = listener;
  if (!port) {
    report.error("sidecar: port is required for ingress listeners");
    return;
  }
  checkPort(report.at("port"), port);
  report.at("port").error(portError(port.number ?? 0));
  if (bind !== "") report.at("bind").error(ipError(bind));
  if (ports.has(port.number ?? 0)) report.at("port").error("sidecar: ports on IP bound listeners must be unique");
  ports.add(port.number ?? 0);
  if (defaultEndpoint !== "") checkEndpoint(report.at("defaultEndpoint"), defaultEndpoint);
  checkIngressTls(report.at("tls"), listener, port);
  checkConnectionPool(report.at("connectionPool"), listener.connectionPool);
  if (listener.connectionPool?.http && !isHttp(parseProtocol(port.protocol ?? "")))
    report.warn(
      `sidecar: HTTP connection pool settings are configured for port ${port.number ?? 0} (${quote(port.name ?? "")}) but its protocol is not HTTP (${port.protocol ?? ""}); only TCP settings will apply`,
    );
}

function checkPort(report: Report, port: SidecarPort): void {
  if ((port.targetPort ?? 0) > 0) report.error("targetPort has no impact on Sidecars");
  if (isSet(port.name)) report.error(portNameError(port.name));
  report.error(protocolError(port.protocol ?? ""));
}

const localHosts: ReadonlySet<string> = new Set(["", "127.0.0.1", "0.0.0.0", "::1", "::"]);

function checkEndpoint(report: Report, endpoint: string): void {
  if (endpoint.startsWith(unixPrefix)) {
    report.error(unixPathError(endpoint.slice(unixPrefix.length)));
    return;
  }
  const match = /^(?:\[([^\]]*)\]|([^:]*)):([^:]*)$/.exec(endpoint);
  if (!match)
    report.error(`address ${endpoint}: ${endpoint.includes(":") ? "too many colons" : "missing port"} in address`);
  if (!localHosts.has(match?.[1] ?? match?.[2] ?? ""))
    report.error(
      "sidecar: defaultEndpoint must be of form 127.0.0.1:<port>,0.0.0.0:<port>,[::1]:port,[::]:port,unix://filepath or unset",
    );
  const port = match?.[3] ?? "";
  if (/^[+-]?\d+$/.test(port)) report.error(portError(Number(port)));
  else
    report.error(
      `sidecar: defaultEndpoint port (${port}) is not a number: strconv.Atoi: parsing ${quote(port)}: invalid syntax`,
    );
}

function checkIngressTls(report: Report, { tls }: IstioIngressListener, port: SidecarPort): void {
  if (!tls) return;
  if ((tls.subjectAltNames ?? []).length > 0) report.error("sidecar: subjectAltNames is not supported in ingress tls");
  if (tls.httpsRedirect) report.error("sidecar: httpsRedirect is not supported");
  if (isSet(tls.credentialName)) report.error("sidecar: credentialName is not currently supported");
  if ((tls.credentialNames ?? []).length > 0) report.error("sidecar: credentialNames is not currently supported");
  if ((tls.tlsCertificates ?? []).length > 0) report.error("sidecar: tls_certificates is not currently supported");
  if (tls.mode === "ISTIO_MUTUAL" || tls.mode === "AUTO_PASSTHROUGH")
    report.error(`configuration is invalid: cannot set mode to ${tls.mode} in sidecar ingress tls`);
  if (!isTls(parseProtocol(port.protocol ?? "")))
    report.error("server cannot have TLS settings for non HTTPS/TLS ports");
  checkServerTls(report, tls);
}

function checkEgressListeners(report: Report, egress: readonly IstioEgressListener[], namespace: string): void {
  const ports = new Set<number>();
  const sockets = new Set<string>();
  let catchAll = false;
  each(report, "egress", egress, (listener, at, index) => {
    const { port, bind = "" } = listener;
    if (!port) {
      if (catchAll) {
        at.error("sidecar: egress can have only one listener with empty port");
        return;
      }
      if (index === egress.length - 1) catchAll = true;
      else at.error("sidecar: the egress listener with empty port should be the last listener in the list");
    } else {
      checkEgressPort(at, port, listener);
      const number = port.number ?? 0;
      if (number === 0 ? sockets.has(bind) : ports.has(number))
        at.at("port").error(
          number === 0
            ? "sidecar: unix domain socket values for listeners must be unique"
            : "sidecar: ports on IP bound listeners must be unique",
        );
      if (number === 0) sockets.add(bind);
      else ports.add(number);
    }
    checkEgressHosts(at, listener.hosts ?? [], namespace);
  });
}

function checkEgressPort(
  report: Report,
  port: SidecarPort,
  { bind = "", captureMode = "DEFAULT" }: IstioEgressListener,
): void {
  checkPort(report.at("port"), port);
  const number = port.number ?? 0;
  if (number !== 0) {
    report.at("port").error(portError(number));
    if (bind !== "") report.at("bind").error(ipError(bind));
    return;
  }
  if (bind.startsWith(unixPrefix)) report.at("bind").error(unixPathError(bind.slice(unixPrefix.length)));
  else report.at("bind").error("sidecar: ports with 0 value must have a unix domain socket bind address");
  if (captureMode !== "DEFAULT" && captureMode !== "NONE")
    report.at("captureMode").error("sidecar: captureMode must be DEFAULT/NONE for unix domain socket listeners");
}

function checkEgressHosts(report: Report, hosts: readonly string[], namespace: string): void {
  if (hosts.length === 0) report.at("hosts").error("sidecar: egress listener must contain at least one host");
  const byNamespace = new Map<string, Set<string>>();
  each(report, "hosts", hosts, (host, at) => {
    const slash = host.indexOf("/");
    if (slash >= 0 && !host.startsWith("~")) {
      const scope = host.slice(0, slash) === "." ? namespace : host.slice(0, slash);
      const name = host.slice(slash + 1);
      const known = byNamespace.get(scope) ?? new Set<string>();
      const repeated = name === "*" ? known.size > 0 : known.has(name) || known.has("*");
      if (repeated) at.warn(`duplicated egress host: ${host}`);
      byNamespace.set(scope, known.add(name));
    }
    checkScopedHost(at, host, "sidecar");
  });
  if (byNamespace.get("*")?.has("*") && byNamespace.size !== 1)
    report.at("hosts").warn("`*/*` host select all resources, no other hosts can be added");
}

function checkOutboundPolicy(report: Report, policy: OutboundTrafficPolicy | undefined): void {
  if (!policy?.egressProxy) return;
  if (policy.mode !== "ALLOW_ANY") {
    report.error("sidecar: egress_proxy must be set only with ALLOW_ANY outbound_traffic_policy mode");
    return;
  }
  report.at("egressProxy", "host").error(fqdnError(policy.egressProxy.host ?? ""));
  if (!policy.egressProxy.port) report.at("egressProxy").error("sidecar: egress_proxy port must be non-nil");
  else checkDestination(report.at("egressProxy"), policy.egressProxy);
}
