/** TLS settings of a gateway's or sidecar's server in, what is wrong with them into the report. */
import { compareText } from "../../lib/index.ts";
import { knownCipherSuites, type ServerTLSSettings } from "../../model/index.ts";
import type { Report } from "./report.ts";
import { isSet } from "./values.ts";

/** Expressions with operators (`-X`, `+X`, …) are left to Envoy. */
const isCipherSuite = (name: string): boolean =>
  name === "" || name === "ALL" || !/^[\p{L}\p{N}]/u.test(name) || knownCipherSuites.has(name);

export function checkServerTls(report: Report, tls: ServerTLSSettings | undefined): void {
  if (!tls) return;
  checkCiphers(report, tls);
  const mode = tls.mode ?? "PASSTHROUGH";
  if (mode === "ISTIO_MUTUAL") {
    checkNothingElse(report, tls);
    return;
  }
  if ((mode === "PASSTHROUGH" || mode === "AUTO_PASSTHROUGH") && hasCertificates(tls))
    report.warn(`${mode} mode does not use certificates, they will be ignored`);
  if (certificateSources(tls) > 1)
    report.error(
      "only one of credential_name, credential_names, server_certificate/private_key, tls_certificates should be specified",
    );
  const terminates = mode === "SIMPLE" || mode === "MUTUAL" || mode === "OPTIONAL_MUTUAL";
  // Credentials are fetched later; nothing is to be said about files then.
  if (terminates && (isSet(tls.credentialName) || hasMany(tls.credentialNames))) return;
  if (terminates) checkFiles(report, tls, mode === "SIMPLE" ? "SIMPLE TLS" : "MUTUAL TLS");
  if (!isSet(tls.caCrl)) return;
  if (isSet(tls.credentialName))
    report.error("CRL is not supported with credentialName. CRL has to be specified in the credential");
  if (mode === "SIMPLE") report.error("CRL is not supported with SIMPLE TLS");
}

const hasMany = (list: readonly unknown[] | undefined): boolean => (list?.length ?? 0) > 0;

function checkCiphers(report: Report, tls: ServerTLSSettings): void {
  const { cipherSuites: suites = [], minProtocolVersion: min } = tls;
  if ((min === "TLSV1_0" || min === "TLSV1_1") && suites.length === 0)
    report.warn(
      "TLS version below TLSV1_2 require setting compatible ciphers as by default they no longer include compatible ciphers.",
    );
  const invalid = new Set(suites.filter((name) => !isCipherSuite(name)));
  const repeated = new Set(suites.filter((name, i) => isCipherSuite(name) && suites.indexOf(name) < i));
  const list = (names: ReadonlySet<string>): string => `[${[...names].sort(compareText).join(" ")}]`;
  if (invalid.size > 0) report.at("cipherSuites").warn(`ignoring invalid cipher suites: ${list(invalid)}`);
  if (repeated.size > 0) report.at("cipherSuites").warn(`ignoring duplicate cipher suites: ${list(repeated)}`);
}

function checkNothingElse(report: Report, tls: ServerTLSSettings): void {
  const what: readonly (readonly [string, boolean])[] = [
    ["server certificate", isSet(tls.serverCertificate)],
    ["private key", isSet(tls.privateKey)],
    ["CA bundle", isSet(tls.caCertificates)],
    ["tlsCertificates", hasMany(tls.tlsCertificates)],
    ["credentialName", isSet(tls.credentialName)],
    ["credentialNames", hasMany(tls.credentialNames)],
  ];
  for (const [name, set] of what) if (set) report.error(`ISTIO_MUTUAL TLS cannot have associated ${name}`);
}

function hasCertificates(tls: ServerTLSSettings): boolean {
  const texts = [tls.caCrl, tls.serverCertificate, tls.privateKey, tls.caCertificates, tls.credentialName];
  return texts.some(isSet) || hasMany(tls.tlsCertificates) || hasMany(tls.credentialNames);
}

function certificateSources(tls: ServerTLSSettings): number {
  const sources = [
    isSet(tls.serverCertificate) && isSet(tls.privateKey),
    isSet(tls.credentialName),
    hasMany(tls.credentialNames),
    hasMany(tls.tlsCertificates),
  ];
  return sources.filter(Boolean).length;
}

function checkFiles(report: Report, tls: ServerTLSSettings, prefix: string): void {
  if (prefix === "MUTUAL TLS" && !isSet(tls.caCertificates)) report.error(`${prefix} requires a client CA bundle`);
  const given = tls.tlsCertificates ?? [];
  if (given.length > 2) report.warn(`${prefix} can support up to 2 server certificates`);
  for (const pair of given.length > 0 ? given : [tls]) {
    if (!isSet(pair.serverCertificate)) report.error(`${prefix} requires a server certificate`);
    if (!isSet(pair.privateKey)) report.error(`${prefix} requires a private key`);
  }
}
