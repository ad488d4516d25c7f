/** A ServiceEntry in, what istiod's webhook says of it into the report. */
import { isHttp, isTcp, isTls, isWildcard, parseProtocol, type ServiceEntrySpec } from "../../model/index.ts";
import { subnetError } from "./addresses.ts";
import type { Check, CheckedObject } from "./check.ts";
import {
  checkLabels,
  fqdnError,
  partialWildcardError,
  portError,
  portNameError,
  wildcardDomainError,
} from "./names.ts";
import { each, quote, type Report } from "./report.ts";
import { checkExportTo, checkLabelSelector } from "./selector.ts";
import { protocolError } from "./sidecar.ts";
import { addressError, checkEndpoint, checkEndpointPorts } from "./workload.ts";

export const checkServiceEntry: Check<ServiceEntrySpec> = (report, spec, object) => {
  if (!checkLabelSelector(report.at("workloadSelector"), spec.workloadSelector, "service entry")) return;
  if (spec.workloadSelector && (spec.endpoints ?? []).length > 0)
    report.error("only one of WorkloadSelector or Endpoints is allowed in Service Entry");
  checkHosts(report, spec);
  checkAddresses(report, spec);
  checkPorts(report, spec, autoAllocates(spec, object));
  checkResolution(report, spec, object);
  checkDistinguishable(report, spec);
  checkExportTo(report, spec.exportTo, { namespace: object.namespace, allowNone: true });
};

const resolutionOf = (spec: ServiceEntrySpec): string => spec.resolution ?? "NONE";

function checkHosts(report: Report, spec: ServiceEntrySpec): void {
  if ((spec.hosts ?? []).length === 0) report.at("hosts").error("service entry must have at least one host");
  each(report, "hosts", spec.hosts, (host, at) => {
    if (host === "*") {
      at.error(`invalid host ${host}`);
      return;
    }
    at.error(wildcardDomainError(host));
    if (spec.resolution !== "DYNAMIC_DNS") at.warn(partialWildcardError(host));
  });
}

function checkAddresses(report: Report, spec: ServiceEntrySpec): void {
  each(report, "addresses", spec.addresses, (address, at) => at.error(subnetError(address)));
  const blocks = (spec.addresses ?? []).some((address) => address.includes("/"));
  if (blocks && !["NONE", "STATIC"].includes(resolutionOf(spec)))
    report.at("addresses").error("CIDR addresses are allowed only for NONE/STATIC resolution types");
}

/** Istio gives addresses of its own to entries without, unless told not to or where they could not be honoured. */
function autoAllocates(spec: ServiceEntrySpec, { labels }: CheckedObject): boolean {
  if (resolutionOf(spec) === "NONE" || (spec.addresses ?? []).length > 0) return false;
  return labels["networking.istio.io/enable-autoallocate-ip"]?.toLowerCase() !== "false";
}

function checkPorts(report: Report, spec: ServiceEntrySpec, allocated: boolean): void {
  const names = new Set<string>();
  const numbers = new Set<number>();
  each(report, "ports", spec.ports, ({ name = "", number = 0, protocol = "", targetPort = 0 }, at) => {
    if (names.has(name)) at.error(`service entry port name ${quote(name)} already defined`);
    if (numbers.has(number)) at.error(`service entry port ${number} already defined`);
    names.add(name);
    numbers.add(number);
    if (targetPort !== 0) at.at("targetPort").error(portError(targetPort));
    if ((spec.addresses ?? []).length === 0 && !allocated && (protocol === "" || protocol === "TCP"))
      at.warn("addresses are required for ports serving TCP (or unset) protocol when IP Autoallocation is not enabled");
    at.at("name").error(portNameError(name));
    at.at("protocol").error(protocolError(protocol));
    at.at("number").error(portError(number));
  });
}

function checkResolution(report: Report, spec: ServiceEntrySpec, object: CheckedObject): void {
  const servicePorts = new Set((spec.ports ?? []).map(({ name = "" }) => name));
  const endpoints = spec.endpoints ?? [];
  switch (resolutionOf(spec)) {
    case "NONE":
      if (endpoints.length > 0)
        report.at("endpoints").error("no endpoints should be provided for resolution type none");
      if (spec.workloadSelector) report.warn("workloadSelector should not be set when resolution mode is NONE");
      return;
    case "STATIC":
      each(report, "endpoints", endpoints, (endpoint, at) =>
        checkEndpoint(at, endpoint, { hostNames: false, servicePorts }),
      );
      return;
    case "DYNAMIC_DNS":
      checkDynamic(report, spec, object);
      return;
    default:
      checkDns(report, spec, servicePorts);
  }
}

function checkDns(report: Report, spec: ServiceEntrySpec, servicePorts: ReadonlySet<string>): void {
  const { endpoints = [], hosts = [] } = spec;
  const wrong = endpoints.length === 0 ? hosts.map(fqdnError).find((error) => error !== undefined) : undefined;
  if (wrong)
    report
      .at("hosts")
      .error(
        `hosts must be FQDN or contain only prefix wildcards if no endpoints are provided for resolution mode ${resolutionOf(spec)}, ${wrong}`,
      );
  if (spec.resolution === "DNS_ROUND_ROBIN" && endpoints.length > 1)
    report.at("endpoints").error("there must only be 0 or 1 endpoint for resolution mode DNS_ROUND_ROBIN");
  each(report, "endpoints", endpoints, ({ address = "", labels, ports = {} }, at) => {
    at.at("address").error(addressError(address, true));
    checkLabels(at.at("labels"), labels);
    checkEndpointPorts(at.at("ports"), ports, servicePorts);
  });
  const tcp = (spec.ports ?? []).some(({ protocol = "" }) => isTcp(parseProtocol(protocol)));
  if ((spec.addresses ?? []).length > 0 && tcp && hosts.length > 1)
    report.warn("service entry can not have more than one host specified simultaneously with address and tcp port");
}

const dynamicProtocols: ReadonlySet<string> = new Set(["HTTP", "TLS", "GRPC", "HTTP2"]);

function checkDynamic(report: Report, spec: ServiceEntrySpec, { labels }: CheckedObject): void {
  const hosts = spec.hosts ?? [];
  if (hosts.length === 0) report.error("at least one wildcard host must be provided for resolution type DYNAMIC_DNS");
  each(report, "hosts", hosts, (host, at) => {
    if (!isWildcard(host)) at.error("host must be wildcarded for resolution mode DYNAMIC_DNS");
  });
  if ((spec.addresses ?? []).length > 0)
    report
      .at("addresses")
      .error(
        "addresses cannot be set for resolution type DYNAMIC_DNS. HTTP route domains will only be generatedfrom the hosts field values",
      );
  if ((spec.endpoints ?? []).length > 0)
    report
      .at("endpoints")
      .error(
        "endpoints cannot be set for resolution type DYNAMIC_DNS. Destination IP address determined from hostsfield values",
      );
  each(report, "ports", spec.ports, ({ protocol = "" }, at) => {
    if (!dynamicProtocols.has(parseProtocol(protocol)))
      at.error("only HTTP, TLS, GRPC, and HTTP2 protocols are supported for resolution type DYNAMIC_DNS");
  });
  const waypoint = labels["istio.io/use-waypoint"] ?? "";
  if (spec.location === "MESH_INTERNAL" && waypoint !== "" && waypoint.toLowerCase() !== "none")
    report.error("location MESH_INTERNAL with resolution type DYNAMIC_DNS is not supported when using waypoints");
}

/** HTTP has the authority and TLS the SNI; of plain TCP nobody can tell for which host it is. */
function checkDistinguishable(report: Report, spec: ServiceEntrySpec): void {
  if (resolutionOf(spec) === "NONE" || (spec.hosts ?? []).length <= 1) return;
  const plain = (spec.ports ?? []).some(({ protocol = "" }) => {
    const parsed = parseProtocol(protocol);
    return !isHttp(parsed) && !isTls(parsed);
  });
  if (plain) report.error("multiple hosts provided with non-HTTP, non-TLS ports");
}
