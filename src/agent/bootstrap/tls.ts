/** TLS settings towards a telemetry service in, the transport socket of its cluster out. */
import type { ClientTLSSettings } from "../../model/index.ts";
import { defined, type Json, type JsonObject, typed } from "./json.ts";

/** A secret by name from the agent's own SDS socket. */
export function sdsSecret(name: string): JsonObject {
  return {
    name,
    sds_config: {
      api_config_source: {
        api_type: "GRPC",
        grpc_services: [{ envoy_grpc: { cluster_name: "sds-grpc" } }],
        set_node_on_first_message_only: true,
        transport_api_version: "V3",
      },
      resource_api_version: "V3",
    },
  };
}

export interface UpstreamTlsOptions {
  readonly settings: ClientTLSSettings | undefined;
  /** SNI of ISTIO_MUTUAL where the settings give none. */
  readonly defaultSni: string;
  readonly http2: boolean;
  /** TLS_CLIENT_* of the node beat the files of the settings. */
  readonly metadata: JsonObject;
}

export function upstreamTls({ settings, defaultSni, http2, metadata }: UpstreamTlsOptions): JsonObject | undefined {
  const secrets = settings && secretNames(settings, metadata);
  if (!settings || !secrets) return undefined;
  const inMesh = settings.mode === "ISTIO_MUTUAL";
  const sni = settings.sni || (inMesh ? defaultSni : "");
  const exact = (settings.subjectAltNames ?? []).map((name) => ({ exact: name }));
  const common = defined({
    alpn_protocols: http2 ? (inMesh ? ["istio", "h2"] : ["h2"]) : undefined,
    tls_certificate_sds_secret_configs: secrets.certificate === "" ? undefined : [sdsSecret(secrets.certificate)],
    combined_validation_context: {
      default_validation_context: exact.length > 0 ? { match_subject_alt_names: exact } : {},
      validation_context_sds_secret_config: sdsSecret(secrets.root),
    },
  });
  const context = defined({ common_tls_context: common, sni: sni === "" ? undefined : sni });
  return {
    name: "envoy.transport_sockets.tls",
    typed_config: typed("envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext", context),
  };
}

interface SecretNames {
  /** Empty where no client certificate is shown. */
  readonly certificate: string;
  readonly root: string;
}

function secretNames(settings: ClientTLSSettings, metadata: JsonObject): SecretNames | undefined {
  const path = (key: string, own: string | undefined): string => textOf(metadata[key]) || (own ?? "");
  const root = path("TLS_CLIENT_ROOT_CERT", settings.caCertificates);
  const rootName = root === "" ? "" : `file-root:${root}`;
  switch (settings.mode) {
    case "SIMPLE":
      return { certificate: "", root: rootName };
    case "MUTUAL": {
      const [chain, key] = [
        path("TLS_CLIENT_CERT_CHAIN", settings.clientCertificate),
        path("TLS_CLIENT_KEY", settings.privateKey),
      ];
      return { certificate: chain !== "" && key !== "" ? `file-cert:${chain}~${key}` : "", root: rootName };
    }
    case "ISTIO_MUTUAL":
      return { certificate: "default", root: "ROOTCA" };
    default:
      return undefined;
  }
}

function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}
