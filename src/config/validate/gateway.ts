/** Istio's Gateway in, what istiod's webhook says of it into the report. */
import {
  type GatewayPort,
  type GatewayServer,
  type GatewaySpec,
  isHttp,
  isSniffed,
  isTls,
  parseProtocol,
} from "../../model/index.ts";
import { ipError, unixPathError, unixPrefix } from "./addresses.ts";
import type { Check } from "./check.ts";
import { checkScopedHost } from "./host.ts";
import { isDnsLabel, portError } from "./names.ts";
import { each, quote, type Report } from "./report.ts";
import { checkServerTls } from "./server-tls.ts";
import { isSet } from "./values.ts";

export const checkGateway: Check<GatewaySpec> = (report, spec, { name }) => {
  if (!isDnsLabel(name)) report.error(`invalid gateway name: ${quote(name)}`);
  const servers = spec.servers ?? [];
  if (servers.length === 0) report.at("servers").error("gateway must have at least one server");
  each(report, "servers", servers, (server, at) => checkServer(at, server));
  const names = new Set<string>();
  each(report, "servers", servers, ({ port, tls }, at) => {
    if (!port) return;
    const portName = port.name ?? "";
    if (names.has(portName))
      at.at("port", "name").error(`port names in servers must be unique: duplicate name ${portName}`);
    names.add(portName);
    if (!isHttp(parseProtocol(port.protocol ?? "")) && tls?.httpsRedirect)
      at.at("tls").warn("tls.httpsRedirect should only be used with http servers");
  });
};

function checkServer(report: Report, server: GatewayServer): void {
  const { hosts = [], port, bind = "", tls } = server;
  if (hosts.length === 0) report.at("hosts").error("server config must contain at least one host");
  each(report, "hosts", hosts, (host, at) => checkScopedHost(at, host, "gateway"));
  const wrongPort = portErrors(port, bind);
  for (const message of wrongPort) report.at("port").error(message);
  checkBind(report.at("bind"), port, bind);
  checkServerTls(report.at("tls"), tls);
  if (wrongPort.length === 0) report.at("tls").error(tlsError(server));
}

function portErrors(port: GatewayPort | undefined, bind: string): readonly string[] {
  if (!port) return ["port is required"];
  const { protocol = "", number = 0, targetPort = 0, name = "" } = port;
  const wrong = number > 0 || !bind.startsWith(unixPrefix) ? portError(number) : undefined;
  return [
    ...(isSniffed(parseProtocol(protocol))
      ? [
          `invalid protocol ${quote(protocol)}, supported protocols are HTTP, HTTP2, GRPC, GRPC-WEB, MONGO, REDIS, MYSQL, TCP`,
        ]
      : []),
    ...(wrong ? [wrong] : []),
    ...(targetPort > 0 ? ["targetPort has no impact on Gateways"] : []),
    ...(name === "" ? [`port name must be set: ${portText(port)}`] : []),
  ];
}

/** A port as Go prints the message. */
function portText({ number, protocol, name, targetPort }: GatewayPort): string {
  const parts = [
    number ? `number:${number}` : "",
    isSet(protocol) ? `protocol:${quote(protocol)}` : "",
    isSet(name) ? `name:${quote(name)}` : "",
    targetPort ? `target_port:${targetPort}` : "",
  ];
  return parts.filter((part) => part !== "").join("  ");
}

function checkBind(report: Report, port: GatewayPort | undefined, bind: string): void {
  if (!bind.startsWith(unixPrefix)) {
    if (bind !== "") report.error(ipError(bind));
    return;
  }
  report.error(unixPathError(bind.slice(unixPrefix.length)));
  if (port?.number) report.error(`port number must be 0 for unix domain socket: ${portText(port)}`);
}

function tlsError({ port, tls }: GatewayServer): string | undefined {
  const protocol = parseProtocol(port?.protocol ?? "");
  if (isTls(protocol)) return tls ? undefined : "server must have TLS settings for HTTPS/TLS protocols";
  if (!tls) return undefined;
  if (!isHttp(protocol)) return "server cannot have TLS settings for non HTTPS/TLS ports";
  // On plain HTTP only a redirect makes sense.
  const passThrough = tls.mode === undefined || tls.mode === "PASSTHROUGH" || tls.mode === "AUTO_PASSTHROUGH";
  const files = isSet(tls.caCertificates) || isSet(tls.privateKey) || isSet(tls.serverCertificate);
  return passThrough && !files ? undefined : "server cannot have TLS settings for plain text HTTP ports";
}
