/** Names in, the reason why they are none (or undefined) out: DNS labels, domains, ports, labels of workloads. */
import type { Report } from "./report.ts";
import { quote } from "./report.ts";

const label = /^[a-zA-Z0-9](?:[-a-zA-Z0-9]*[a-zA-Z0-9])?$/;
const wildcardLabel = /^(?:\*|(?:\*|\*-)?[a-zA-Z0-9](?:[-a-zA-Z0-9]*[a-zA-Z0-9])?)$/;

/** RFC 1123, upper case allowed as Istio has it. */
export const isDnsLabel = (text: string): boolean => text.length <= 63 && label.test(text);

const isWildcardLabel = (text: string): boolean => text.length <= 63 && wildcardLabel.test(text);

function lengthError(domain: string): string | undefined {
  if (domain.length > 255) return `domain name ${quote(domain)} too long (max 255)`;
  return domain === "" ? "empty domain name not allowed" : undefined;
}

function labelsError(domain: string): string | undefined {
  const parts = domain.split(".");
  const last = parts.at(-1) ?? "";
  if (/^[+-]?\d+$/.test(last))
    return `domain name ${quote(domain)} invalid (top level domain ${quote(last)} cannot be all-numeric)`;
  // The last part may be empty: `istio.io.` is an unambiguous name.
  const bad = parts.find((part, i) => !isDnsLabel(part) && !(part === "" && i === parts.length - 1));
  return bad === undefined ? undefined : `domain name ${quote(domain)} invalid (label ${quote(bad)} invalid)`;
}

export const fqdnError = (domain: string): string | undefined => lengthError(domain) ?? labelsError(domain);

/** A domain whose first label may be, or start with, a star. */
export function wildcardDomainError(domain: string): string | undefined {
  const tooLong = lengthError(domain);
  if (tooLong) return tooLong;
  const dot = domain.indexOf(".");
  const first = dot < 0 ? domain : domain.slice(0, dot);
  if (!isWildcardLabel(first)) return `domain name ${quote(domain)} invalid (label ${quote(first)} invalid)`;
  return dot < 0 ? undefined : labelsError(domain.slice(dot + 1));
}

const generatedSni = "outbound_.<PORT>_._.<HOSTNAME>";

/** On gateways an SNI may be one that AUTO_PASSTHROUGH makes: `outbound_.80_._.host`. */
export function gatewayDomainError(domain: string, sni: boolean): string | undefined {
  const tooLong = lengthError(domain);
  if (tooLong) return tooLong;
  if (!sni || !domain.startsWith("outbound_")) return wildcardDomainError(domain);
  const parts = domain.split("_");
  if (parts.length < 4) return `domain name ${domain} invalid, should follow '${generatedSni}' format`;
  const [port = "", , host = ""] = parts.slice(1).map((part) => part.replace(/^\.+|\.+$/g, ""));
  const bad = !/[0-9]/.test(port) ? port : !/[a-zA-Z]/.test(host) ? host : undefined;
  if (bad === undefined) return undefined;
  return `domain name ${quote(domain)} invalid (label ${quote(bad)} invalid). should follow ${generatedSni} format`;
}

export const partialWildcardError = (host: string): string | undefined =>
  host.includes("*") && host.length !== 1 && !host.startsWith("*.")
    ? `partial wildcard ${quote(host)} not allowed`
    : undefined;

export const portError = (port: number): string | undefined =>
  port >= 1 && port <= 65535 ? undefined : `port number ${port} must be in the range 1..65535`;

export const portNameError = (name: string): string | undefined =>
  isDnsLabel(name) ? undefined : `invalid port name: ${name}`;

export function subsetNameError(name: string): string | undefined {
  if (name === "") return "subset name cannot be empty";
  return isDnsLabel(name) ? undefined : `subset name is invalid: ${name}`;
}

const labelKey =
  /^([a-zA-Z0-9](?:[-a-zA-Z0-9]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[-a-zA-Z0-9]*[a-zA-Z0-9])?)*\/)?((?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$/;
const labelValue = /^(?:(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;

function labelKeyError(key: string): string | undefined {
  const match = key.length > 1024 ? null : labelKey.exec(key);
  if (!match) return `invalid tag key: ${quote(key)}`;
  if ((match[1]?.length ?? 0) > 254) return `invalid tag key: ${quote(key)} (DNS prefix is too long)`;
  return (match[2]?.length ?? 0) > 63 ? `invalid tag key: ${quote(key)} (name is too long)` : undefined;
}

export function labelErrors(labels: Readonly<Record<string, string>> | undefined): readonly string[] {
  return Object.entries(labels ?? {}).flatMap(([key, value]) => {
    const wrong = labelKeyError(key);
    const errors = wrong ? [wrong] : [];
    return value.length > 1024 || !labelValue.test(value) ? [...errors, `invalid tag value: ${quote(value)}`] : errors;
  });
}

export function checkLabels(report: Report, labels: Readonly<Record<string, string>> | undefined): void {
  for (const message of labelErrors(labels)) report.error(message);
}
