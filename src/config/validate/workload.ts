/** WorkloadEntry and WorkloadGroup in, what istiod's webhook says of them into the report. */
import type { ReadinessProbe, WorkloadEntrySpec, WorkloadGroupSpec } from "../../model/index.ts";
import { isIp, unixPathError, unixPrefix } from "./addresses.ts";
import type { Check } from "./check.ts";
import { probeNameError } from "./header.ts";
import { checkLabels, fqdnError, labelErrors, portError, portNameError } from "./names.ts";
import { each, listed, quote, type Report } from "./report.ts";

export const checkWorkloadEntry: Check<WorkloadEntrySpec> = (report, spec) =>
  checkEndpoint(report, spec, { hostNames: true });

export interface EndpointOptions {
  /** False where only addresses are allowed: static endpoints. */
  readonly hostNames: boolean;
  /** The ports of the service the endpoint belongs to, where that is known. */
  readonly servicePorts?: ReadonlySet<string>;
}

export function checkEndpoint(report: Report, entry: WorkloadEntrySpec, options: EndpointOptions): void {
  const { address = "", network = "", ports = {} } = entry;
  if (address === "" && network === "") {
    report.error("address is required");
    return;
  }
  if (address === "") report.warn(`address is unset with network ${quote(network)}`);
  const unix = address.startsWith(unixPrefix);
  if (unix) {
    report.at("address").error(unixPathError(address.slice(unixPrefix.length)));
    if (Object.keys(ports).length > 0) report.error(`unix endpoint ${address} must not include ports`);
  } else if (address !== "") report.at("address").error(addressError(address, options.hostNames));
  checkEndpointPorts(report.at("ports"), ports, options.servicePorts);
  checkLabels(report.at("labels"), entry.labels);
  if (unix && options.servicePorts && options.servicePorts.size !== 1)
    report.error("exactly 1 service port required for unix endpoints");
}

export function addressError(address: string, hostNames: boolean): string | undefined {
  if (isIp(address)) return undefined;
  if (!hostNames) return `endpoint address ${quote(address)} is not a valid IP address`;
  return fqdnError(address) ? `endpoint address ${quote(address)} is not a valid FQDN or an IP address` : undefined;
}

export function checkEndpointPorts(
  report: Report,
  ports: Readonly<Record<string, number>>,
  servicePorts: ReadonlySet<string> | undefined,
): void {
  for (const [name, port] of Object.entries(ports)) {
    if (servicePorts && !servicePorts.has(name))
      report.error(`endpoint port ${port} is not defined by the service entry`);
    report.error(portNameError(name));
    report.error(portError(port));
  }
}

export const checkWorkloadGroup: Check<WorkloadGroupSpec> = (report, spec) => {
  if (!spec.template) {
    report.error("template is required");
    return;
  }
  const wrong = labelErrors(spec.metadata?.labels);
  if (wrong.length > 0) report.at("metadata", "labels").error(`invalid labels: ${listed(wrong)}`);
  else checkProbe(report.at("probe"), spec.probe);
};

const counts = [
  "periodSeconds",
  "initialDelaySeconds",
  "timeoutSeconds",
  "successThreshold",
  "failureThreshold",
] as const;

function checkProbe(report: Report, probe: ReadinessProbe | undefined): void {
  if (!probe) return;
  for (const name of counts) if ((probe[name] ?? 0) < 0) report.at(name).error(`${name} must be non-negative`);
  const { httpGet, tcpSocket, exec } = probe;
  if (httpGet) {
    report.at("httpGet", "port").error(portError(httpGet.port ?? 0));
    if (!["", "HTTP", "HTTPS"].includes(httpGet.scheme ?? ""))
      report.at("httpGet", "scheme").error('httpGet.scheme must be one of "HTTPS", "HTTP"');
    each(report.at("httpGet"), "httpHeaders", httpGet.httpHeaders, ({ name = "" }, at) =>
      at.error(probeNameError(name)),
    );
  } else if (tcpSocket) report.at("tcpSocket", "port").error(portError(tcpSocket.port ?? 0));
  else if (exec) {
    if ((exec.command ?? []).length === 0) report.at("exec").error("exec.command is required");
  } else report.error(`unknown health check method ${probe.grpc ? "*v1alpha3.ReadinessProbe_Grpc" : "<nil>"}`);
}
