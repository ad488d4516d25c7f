/** MeshConfig with its defaults filled in, in; errors (the config is not taken) and warnings out, as istiod judges it. */
import { compareText, parseDuration } from "../../lib/index.ts";
import type { MeshConfigSpec, MeshNetworksSpec } from "../../model/index.ts";
import { ipError, subnetError } from "./addresses.ts";
import { checkExtensionProviders } from "./extension-provider.ts";
import { checkRetry } from "./http-route.ts";
import { checkLocality, checkZoneAware } from "./load-balancer.ts";
import { fqdnError, isDnsLabel, portError, wildcardDomainError } from "./names.ts";
import { checkProxyValues } from "./proxy-values.ts";
import { createReport, each, quote, type Report, type Verdict } from "./report.ts";
import { checkConnectionPool, checkOutlierDetection } from "./traffic-policy.ts";
import { durationError } from "./values.ts";

export function validateMeshConfig(mesh: MeshConfigSpec): Verdict {
  const { report, errors, warnings } = createReport("MeshConfig", "");
  const prefixed = (field: string, prefix: string, wrong: string | undefined): void =>
    report.at(field).error(wrong === undefined ? undefined : `${prefix}: ${wrong}`);
  prefixed("proxyListenPort", "invalid proxy listen port", portError(mesh.proxyListenPort ?? 0));
  prefixed("connectTimeout", "invalid connect timeout", connectTimeoutError(mesh.connectTimeout ?? "0s"));
  prefixed(
    "protocolDetectionTimeout",
    "invalid protocol detection timeout",
    detectionError(mesh.protocolDetectionTimeout ?? "0s"),
  );
  if (mesh.defaultConfig) checkProxyValues(report.at("defaultConfig"), mesh.defaultConfig);
  else report.error("missing default config");
  checkLocality(report.at("localityLbSetting"), mesh.localityLbSetting, true);
  checkZoneAware(report.at("zoneAwareLbSetting"), mesh.zoneAwareLbSetting, true);
  checkServiceSettings(report, mesh);
  checkTrustDomains(report, mesh);
  checkExtensionProviders(report, mesh.extensionProviders ?? []);
  checkTls(report, mesh);
  checkConnectionPool(report.at("defaultTrafficPolicy", "connectionPool"), mesh.defaultTrafficPolicy?.connectionPool);
  checkOutlierDetection(
    report.at("defaultTrafficPolicy", "outlierDetection"),
    mesh.defaultTrafficPolicy?.outlierDetection,
  );
  checkRetry(report.at("defaultHttpRetryPolicy"), mesh.defaultHttpRetryPolicy);
  return { readable: true, errors, warnings };
}

function connectTimeoutError(text: string): string | undefined {
  const wrong = durationError(text);
  if (wrong) return wrong;
  return (parseDuration(text) ?? 0n) > 3_600_000_000_000n ? `time ${text} must be >1ms and <1h0m0s` : undefined;
}

/** Zero switches detection's timeout off. */
const detectionError = (text: string): string | undefined =>
  (parseDuration(text) ?? 0n) % 1_000_000n === 0n ? undefined : "only durations to ms precision are supported";

function checkServiceSettings(report: Report, mesh: MeshConfigSpec): void {
  each(report, "serviceSettings", mesh.serviceSettings, ({ hosts }, at, i) => {
    for (const host of hosts ?? []) {
      const wrong = wildcardDomainError(host);
      if (wrong) at.at("hosts").error(`serviceSettings[${i}], host \`${host}\`: ${wrong}`);
    }
  });
}

function checkTrustDomains(report: Report, mesh: MeshConfigSpec): void {
  const wrong = trustDomainError(mesh.trustDomain ?? "");
  if (wrong) report.at("trustDomain").error(`trustDomain: ${wrong}`);
  each(report, "trustDomainAliases", mesh.trustDomainAliases, (alias, at, i) => {
    const bad = trustDomainError(alias);
    if (bad) at.error(`trustDomainAliases[${i}], domain \`${alias}\` : ${bad}`);
  });
}

function trustDomainError(domain: string): string | undefined {
  if (domain === "") return "empty domain name not allowed";
  const parts = domain.split(".");
  const fine = parts.every((part, i) => isDnsLabel(part) || (part === "" && i === parts.length - 1));
  return fine ? undefined : `trust domain name ${quote(domain)} invalid`;
}

const curves: ReadonlySet<string> = new Set([
  "",
  "P-224",
  "P-256",
  "P-521",
  "P-384",
  "X25519",
  "X25519Kyber768Draft00",
  "X25519MLKEM768",
]);

function checkTls(report: Report, mesh: MeshConfigSpec): void {
  if ((mesh.meshMTLS?.ecdhCurves ?? []).length > 0)
    report.at("meshMTLS", "ecdhCurves").error("mesh TLS does not support ECDH curves configuration");
  const given = mesh.tlsDefaults?.ecdhCurves ?? [];
  const list = (names: readonly string[]): string => `[${[...new Set(names)].sort(compareText).join(" ")}]`;
  const unknown = given.filter((name) => !curves.has(name));
  const repeated = given.filter((name, i) => curves.has(name) && given.indexOf(name) < i);
  const at = report.at("tlsDefaults", "ecdhCurves");
  if (unknown.length > 0) at.warn(`detected unrecognized ECDH curves: ${list(unknown)}`);
  if (repeated.length > 0) at.warn(`detected duplicate ECDH curves: ${list(repeated)}`);
}

export function validateMeshNetworks(networks: MeshNetworksSpec): Verdict {
  const { report, errors, warnings } = createReport("MeshNetworks", "");
  for (const [name, network] of Object.entries(networks.networks ?? {})) {
    const say = (at: Report, wrong: string | undefined): void =>
      at.error(wrong === undefined ? undefined : `invalid network ${name}: ${wrong}`);
    each(report.at("networks", name), "endpoints", network.endpoints, ({ fromCidr, fromRegistry }, at) => {
      if (fromCidr !== undefined) say(at, subnetError(fromCidr));
      if (fromRegistry !== undefined && !isDnsLabel(fromRegistry)) say(at, `invalid registry name: ${fromRegistry}`);
    });
    each(
      report.at("networks", name),
      "gateways",
      network.gateways,
      ({ registryServiceName, address, port = 0 }, at) => {
        if (registryServiceName !== undefined) say(at, fqdnError(registryServiceName));
        if (address !== undefined && ipError(address) && fqdnError(address))
          say(at, `${address} is not a valid IP address or DNS name`);
        say(at, portError(port));
      },
    );
  }
  return { readable: true, errors, warnings };
}
