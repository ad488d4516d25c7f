/** A policy's TLS settings, and what is known of the servers, in; how the client secures its connections out. */
import type { Mesh } from "../../mesh/index.ts";
import type { BuildFacet, ClientTLSSettings, Service, ServicePort, TrafficPolicy } from "../../model/index.ts";
import type { HttpOptions } from "./http-options.ts";

export type ClientTls =
  | { readonly mode: "plain" }
  /** Istio's mTLS. `auto`: nobody asked, so it is used only towards endpoints that take it. */
  | {
      readonly mode: "mesh";
      readonly sni: string;
      readonly subjectAltNames: readonly string[];
      readonly auto: boolean;
      readonly insecureSkipVerify: boolean;
    }
  /** TLS as the user describes it. */
  | {
      readonly mode: "user";
      readonly settings: ClientTLSSettings;
      readonly mutual: boolean;
      /** Names that the server must have; those of the settings, else those declared for the service. */
      readonly subjectAltNames: readonly string[];
    };

export interface TlsSource {
  readonly mesh: Mesh;
  readonly proxy: BuildFacet;
  readonly service: Service;
  readonly port: ServicePort;
  readonly settings: ClientTLSSettings | undefined;
  /** The policy of the level that made the cluster, before port levels: it alone tells whether it passes through. */
  readonly rawPolicy: TrafficPolicy | undefined;
  readonly ruleHasSelector: boolean;
  readonly sni: string;
  /** Names that answer for the service where the settings have none. */
  identities(): readonly string[];
}

const plain: ClientTls = { mode: "plain" };

export function clientTls(source: TlsSource): ClientTls {
  const { settings } = source;
  return settings ? askedTls(source, settings) : autoTls(source);
}

function askedTls(source: TlsSource, settings: ClientTLSSettings): ClientTls {
  const certs = metadataCertificates(source.proxy);
  switch (settings.mode ?? "DISABLE") {
    case "DISABLE":
      return plain;
    case "SIMPLE":
      return userTls(source, settings, false);
    case "MUTUAL":
      // Certificates that the proxy was started with stand in for the rule's, but not towards the outside.
      if (certs && !source.service.meshExternal) return userTls(source, { ...settings, ...certs }, true);
      return userTls(source, settings, true);
    case "ISTIO_MUTUAL":
      if (certs && !source.service.meshExternal) return userTls(source, { ...settings, ...certs }, true);
      return meshTls(source, settings, false);
    default:
      return plain;
  }
}

/** Settings that hold for hosts that nobody declared: there is nothing to fill them up from. */
export function hostlessTls(settings: ClientTLSSettings, proxy: BuildFacet): ClientTls {
  const subjectAltNames = settings.subjectAltNames ?? [];
  switch (settings.mode) {
    case "ISTIO_MUTUAL":
      return {
        mode: "mesh",
        sni: settings.sni ?? "",
        subjectAltNames,
        auto: false,
        insecureSkipVerify: settings.insecureSkipVerify === true,
      };
    case "SIMPLE":
    case "MUTUAL": {
      const mutual = settings.mode === "MUTUAL";
      const usable = mayUseCredential(proxy, false, settings) && hasCertificate(settings, mutual);
      return usable ? { mode: "user", settings, mutual, subjectAltNames } : plain;
    }
    default:
      return plain;
  }
}

function autoTls(source: TlsSource): ClientTls {
  const { mesh, proxy, service, sni, identities } = source;
  if (service.meshExternal || !mesh.settings().enableAutoMtls || !serversTakeMtls(source)) return plain;
  const certs = metadataCertificates(proxy);
  if (!certs) return meshTls(source, {}, true);
  return userTls(source, { ...certs, sni, subjectAltNames: identities() }, true);
}

/**
 * Whether the service as a whole takes mTLS, as far as that can be told. Where Envoy does not see the endpoints
 * (passthrough), one without a sidecar turns it off for all.
 */
function serversTakeMtls({ mesh, service, port, rawPolicy }: TlsSource): boolean {
  if (service.resolution === "passthrough" || rawPolicy?.loadBalancer?.simple === "PASSTHROUGH") {
    const endpoints = mesh.endpoints(service.key, port);
    if (endpoints.length === 0 || endpoints.some((endpoint) => endpoint.tlsMode !== "istio")) return false;
  }
  return mesh.peerAuthentication(service.namespace, {}).mode !== "DISABLE";
}

function meshTls(source: TlsSource, settings: ClientTLSSettings, auto: boolean): ClientTls {
  const names = settings.subjectAltNames ?? [];
  return {
    mode: "mesh",
    sni: settings.sni || source.sni,
    subjectAltNames: names.length > 0 ? names : source.identities(),
    auto,
    insecureSkipVerify: settings.insecureSkipVerify === true,
  };
}

function userTls(source: TlsSource, settings: ClientTLSSettings, mutual: boolean): ClientTls {
  const allowed = mayUseCredential(source.proxy, source.ruleHasSelector, settings);
  if (!allowed || !hasCertificate(settings, mutual)) return plain;
  const names = settings.subjectAltNames ?? [];
  const declared = source.service.registry === "External" ? source.identities() : [];
  return { mode: "user", settings, mutual, subjectAltNames: names.length > 0 ? names : declared };
}

/**
 * A sidecar gets a Secret only by a rule that selects workloads: else every sidecar of the mesh would wait for a secret
 * that it may not read. ConfigMaps are open to all.
 */
function mayUseCredential(
  proxy: BuildFacet,
  ruleHasSelector: boolean,
  { credentialName = "" }: ClientTLSSettings,
): boolean {
  const secret = credentialName !== "" && !credentialName.startsWith("configmap://");
  return !secret || proxy.type !== "sidecar" || ruleHasSelector;
}

function hasCertificate(
  { credentialName, clientCertificate, privateKey }: ClientTLSSettings,
  mutual: boolean,
): boolean {
  return !mutual || Boolean(credentialName) || Boolean(clientCertificate && privateKey);
}

/** Files that the proxy was started with (`TLS_CLIENT_*`). */
function metadataCertificates({ metadata }: BuildFacet): ClientTLSSettings | undefined {
  const chain = metadata.TLS_CLIENT_CERT_CHAIN;
  if (!chain) return undefined;
  return {
    mode: "MUTUAL",
    clientCertificate: chain,
    privateKey: metadata.TLS_CLIENT_KEY ?? "",
    caCertificates: metadata.TLS_CLIENT_ROOT_CERT ?? "",
    credentialName: "",
    caCrl: "",
  };
}

/**
 * Where neither the rule nor the service says what the server is called, Envoy takes the name from each request. A
 * dynamic forward proxy has no other name to check.
 */
export function autoNames(tls: ClientTls, dynamic: boolean): Pick<HttpOptions, "autoSni" | "autoSanValidation"> {
  if (tls.mode === "plain" || (tls.mode === "mesh" && !dynamic)) return { autoSni: false, autoSanValidation: false };
  const { sni, names, insecure } =
    tls.mode === "mesh"
      ? { sni: tls.sni, names: tls.subjectAltNames, insecure: tls.insecureSkipVerify }
      : {
          sni: tls.settings.sni ?? "",
          names: tls.settings.subjectAltNames ?? [],
          insecure: tls.settings.insecureSkipVerify === true,
        };
  const autoSni = sni === "";
  return { autoSni, autoSanValidation: !insecure && (dynamic || (autoSni && names.length === 0)) };
}
