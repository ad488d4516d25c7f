/** Hosts with a namespace before them (`ns/host`), as Gateways and Sidecars write them. */
import { isIp } from "./addresses.ts";
import { isDnsLabel, partialWildcardError, wildcardDomainError } from "./names.ts";
import { quote, type Report } from "./report.ts";

export function checkScopedHost(report: Report, host: string, kind: "gateway" | "sidecar"): void {
  const slash = host.indexOf("/");
  if (slash < 0) {
    if (kind === "gateway") checkHostPart(report, host, kind);
    else report.error("host must be of form namespace/dnsName");
    return;
  }
  const [namespace, name] = [host.slice(0, slash), host.slice(slash + 1)];
  if (namespace === "" || name === "") report.error("config namespace and dnsName in host entry cannot be empty");
  if (!isScope(namespace, kind)) report.error(`invalid namespace value ${quote(namespace)} in ${kind}`);
  checkHostPart(report, name, kind);
}

/** In a sidecar `~` before the namespace excludes it. */
function isScope(namespace: string, kind: "gateway" | "sidecar"): boolean {
  const scope = kind === "sidecar" ? namespace.replace(/^~/, "") : namespace;
  return scope === "*" || scope === "." || (kind === "sidecar" && scope === "") || isDnsLabel(scope);
}

function checkHostPart(report: Report, host: string, kind: "gateway" | "sidecar"): void {
  if (host !== "*" && !host.includes(".")) report.error("short names (non FQDN) are not allowed");
  const wrong = wildcardDomainError(host);
  if (wrong) {
    // Istio says it twice for sidecars, which do not take addresses either.
    if (kind === "sidecar") report.error(wrong);
    if (!isIp(host)) report.error(wrong);
  }
  report.error(partialWildcardError(host));
}
