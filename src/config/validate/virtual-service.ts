/** A VirtualService in, what istiod's webhook says of it into the report. */
import type {
  L4MatchAttributes,
  TCPRoute,
  TLSMatchAttributes,
  TLSRoute,
  VirtualServiceSpec,
} from "../../model/index.ts";
import { isIp, subnetError } from "./addresses.ts";
import type { Check } from "./check.ts";
import { checkRoutes } from "./destination.ts";
import { checkGatewayNames } from "./gateway-names.ts";
import { isClaim } from "./header.ts";
import { type HostIndex, indexHosts, overlappingHosts } from "./host-index.ts";
import { checkHttpRoute } from "./http-route.ts";
import { checkLabels, gatewayDomainError, portError, wildcardDomainError } from "./names.ts";
import { each, quote, type Report } from "./report.ts";
import { checkExportTo } from "./selector.ts";
import { checkUnreachable } from "./unreachable.ts";

/** Hosts that an error lists: each of hundreds of errors would else repeat a megabyte of them. */
const maxListed = 100;

/** What the routes need to know of the object around them. */
interface Around {
  readonly hosts: HostIndex;
  /** As they are told. */
  readonly listed: string;
  /** Bound to gateways only, not to the mesh. */
  readonly gatewayOnly: boolean;
}

export const checkVirtualService: Check<VirtualServiceSpec> = function* (report, spec, { namespace }) {
  const { hosts = [], gateways = [] } = spec;
  const onGateways = gateways.length > 0 && !gateways.includes("mesh");
  if (hosts.length === 0) checkDelegate(report, spec);
  if (gateways.length > 0) checkGatewayNames(report.at("gateways"), gateways);
  if (!onGateways) checkNoClaims(report, spec);
  yield;
  checkHosts(report, spec, onGateways);
  yield;
  const routes = [spec.http, spec.tls, spec.tcp];
  if (routes.every((list) => (list ?? []).length === 0))
    report.error("http, tcp or tls must be provided in virtual service");
  for (const [i, route] of (spec.http ?? []).entries()) {
    checkHttpRoute(report.at("http", i), route, hosts.length === 0);
    yield;
  }
  const around: Around = {
    hosts: indexHosts(hosts),
    listed: [...hosts.slice(0, maxListed), ...(hosts.length > maxListed ? ["…"] : [])].join(", "),
    gatewayOnly: !gateways.includes("mesh"),
  };
  each(report, "tls", spec.tls, (route, at) => checkTlsRoute(at, route, around));
  each(report, "tcp", spec.tcp, (route, at) => checkTcpRoute(at.quiet, route));
  checkExportTo(report, spec.exportTo, { namespace });
  yield;
  yield* checkUnreachable(report, spec);
};

/** Without hosts it can only be a delegate, which others refer to. */
function checkDelegate(report: Report, spec: VirtualServiceSpec): void {
  const has = (list: readonly unknown[] | undefined): boolean => (list ?? []).length > 0;
  if (has(spec.gateways)) report.error("delegate virtual service must have no gateways specified");
  if (has(spec.tls)) report.error("delegate virtual service must have no tls route specified");
  if (has(spec.tcp)) report.error("delegate virtual service must have no tcp route specified");
}

function checkNoClaims(report: Report, spec: VirtualServiceSpec): void {
  each(report, "http", spec.http, (route, at) => {
    each(at, "match", route.match, (match, below) => {
      for (const field of ["headers", "withoutHeaders"] as const)
        for (const key of Object.keys(match[field] ?? {}).filter(isClaim))
          below
            .at(field)
            .error(
              `JWT claim based routing (key: ${key}) is only supported for gateway, found no gateways: [${(spec.gateways ?? []).join(" ")}]`,
            );
    });
  });
}

/** Of a list in which all are the same every pair would be told. */
const maxOverlaps = 100;

function checkHosts(report: Report, spec: VirtualServiceSpec, onGateways: boolean): void {
  const { hosts = [] } = spec;
  const sni = (spec.tls ?? []).some((route) => (route.match ?? []).some((match) => (match.sniHosts ?? []).length > 0));
  let valid = true;
  each(report, "hosts", hosts, (host, at) => {
    const wrong = onGateways ? gatewayDomainError(host, sni) : wildcardDomainError(host);
    const problem =
      wrong && !isIp(host)
        ? wrong
        : !wrong && !onGateways && host === "*"
          ? "wildcard host * is not allowed for virtual services bound to the mesh gateway"
          : undefined;
    at.error(problem);
    valid &&= problem === undefined;
  });
  if (!valid) return;
  for (const [i, j] of overlappingHosts(hosts, maxOverlaps))
    report.at("hosts", i).error(`duplicate hosts in virtual service: ${hosts[i]} & ${hosts[j]}`);
}

function checkTlsRoute(report: Report, route: TLSRoute, around: Around): void {
  if ((route.match ?? []).length === 0) report.error("TLS route must have at least one match condition");
  each(report, "match", route.match, (match, at) => checkTlsMatch(at, match, around));
  if ((route.route ?? []).length === 0) report.error("TLS route is required");
  checkRoutes(report, route.route);
}

function checkTlsMatch(report: Report, match: TLSMatchAttributes, around: Around): void {
  if ((match.sniHosts ?? []).length === 0) report.error("TLS match must have at least one SNI host");
  each(report, "sniHosts", match.sniHosts, (host, at) => checkSniHost(at, host, around));
  checkL4Match(report, match);
}

function checkSniHost(report: Report, host: string, around: Around): void {
  const wrong = around.gatewayOnly ? gatewayDomainError(host, true) : wildcardDomainError(host);
  if (wrong) {
    if (isIp(host))
      report.warn(`using an IP address (${quote(host)}) goes against SNI spec and most clients do not support this`);
    else report.error(wrong);
    return;
  }
  for (const _ of around.hosts.covering(host)) return;
  report.error(
    `SNI host ${quote(host)} is not a compatible subset of any of the virtual service hosts: [${around.listed}]`,
  );
}

function checkTcpRoute(report: Report, route: TCPRoute): void {
  each(report, "match", route.match, (match, at) => checkL4Match(at, match));
  if ((route.route ?? []).length === 0) report.error("TCP route is required");
  checkRoutes(report, route.route);
}

function checkL4Match(report: Report, match: L4MatchAttributes): void {
  each(report, "destinationSubnets", match.destinationSubnets, (subnet, at) => at.error(subnetError(subnet)));
  if (match.port) report.at("port").error(portError(match.port));
  checkLabels(report.at("sourceLabels"), match.sourceLabels);
  checkGatewayNames(report.at("gateways"), match.gateways ?? []);
}
