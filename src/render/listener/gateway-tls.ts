/** TLS settings of a Gateway's server in; the TLS context with which the gateway answers its clients out. */
import { create } from "@bufbuild/protobuf";
import {
  type CertificateValidationContextSchema,
  TlsParameters_TlsProtocol,
  type TlsParametersSchema,
  CertificateValidationContext_TrustChainVerification as TrustChain,
} from "../../gen/envoy/extensions/transport_sockets/tls/v3/common_pb.js";
import type { SdsSecretConfig } from "../../gen/envoy/extensions/transport_sockets/tls/v3/secret_pb.js";
import {
  type CommonTlsContextSchema,
  type DownstreamTlsContext,
  DownstreamTlsContextSchema,
} from "../../gen/envoy/extensions/transport_sockets/tls/v3/tls_pb.js";
import {
  type BuildFacet,
  isHttp,
  knownCipherSuites,
  type Protocol,
  type ServerTLSSettings,
} from "../../model/index.ts";
import type { Fields } from "../build/fields.ts";
import { exactMatch } from "../build/match.ts";
import {
  agentSecret,
  certificateFilesSecret,
  credentialSecret,
  externalName,
  externalSecret,
  isExternal,
  rootFileSecret,
  rootSecret,
  workloadSecret,
} from "../build/tls.ts";
import { inboundTcpAlpn } from "../proxy/profile.ts";
import { fileServer, hasCredentialServer } from "../proxy/secret-server.ts";
import { providerCluster } from "../telemetry/provider.ts";
import type { View } from "../view.ts";
import { ownCertificate, ownRoot } from "./inbound-tls.ts";

const versions: Readonly<Record<string, TlsParameters_TlsProtocol>> = {
  TLSV1_0: TlsParameters_TlsProtocol.TLSv1_0,
  TLSV1_1: TlsParameters_TlsProtocol.TLSv1_1,
  TLSV1_2: TlsParameters_TlsProtocol.TLSv1_2,
  TLSV1_3: TlsParameters_TlsProtocol.TLSv1_3,
};

type Tls = ServerTLSSettings;
type Common = Fields<typeof CommonTlsContextSchema>;

export function serverTlsContext(view: View<BuildFacet>, tls: Tls, protocol: Protocol): DownstreamTlsContext {
  const mutual = tls.mode === "MUTUAL" || tls.mode === "ISTIO_MUTUAL";
  const forMesh = tls.mode === "ISTIO_MUTUAL" && !isHttp(protocol) && protocol !== "HTTPS";
  const parameters = tls.mode === "ISTIO_MUTUAL" ? undefined : tlsParameters(view, tls);
  return create(DownstreamTlsContextSchema, {
    requireClientCertificate: mutual,
    commonTlsContext: {
      alpnProtocols: [...(forMesh ? inboundTcpAlpn(view.proxy) : ["h2", "http/1.1"])],
      ...certificates(view, tls),
      ...(parameters ? { tlsParams: parameters } : {}),
    },
  });
}

const validatesClient = ({ mode }: Tls): boolean =>
  mode === "MUTUAL" || mode === "ISTIO_MUTUAL" || mode === "OPTIONAL_MUTUAL";

export const credentialNames = (tls: Tls): readonly string[] =>
  tls.credentialNames && tls.credentialNames.length > 0
    ? tls.credentialNames
    : tls.credentialName
      ? [tls.credentialName]
      : [];

/** The CA that clients are checked against: named, or kept beside the (first) credential. */
export const caCredentialName = (tls: Tls): string =>
  tls.caCertCredentialName || `${credentialNames(tls)[0] ?? ""}-cacert`;

function certificates(view: View<BuildFacet>, tls: Tls): Common {
  if (tls.mode === "ISTIO_MUTUAL") {
    return {
      tlsCertificateSdsSecretConfigs: [ownCertificate(view.proxy)],
      ...fileValidation(tls, ownRoot(view.proxy)),
    };
  }
  const names = credentialNames(tls);
  if (names.length > 0) {
    return {
      tlsCertificateSdsSecretConfigs: names.map((name) => namedSecret(view, name)),
      ...credentialValidation(view, tls),
    };
  }
  const files = tls.tlsCertificates && tls.tlsCertificates.length > 0 ? tls.tlsCertificates : [tls];
  const own = files.map(({ serverCertificate, privateKey }) =>
    serverCertificate && privateKey
      ? certificateFilesSecret(serverCertificate, privateKey, fileServer(view.proxy))
      : agentSecret(workloadSecret),
  );
  const root = tls.caCertificates
    ? rootFileSecret(tls.caCertificates, fileServer(view.proxy))
    : agentSecret(rootSecret);
  return { tlsCertificateSdsSecretConfigs: own, ...fileValidation(tls, root) };
}

function fileValidation(tls: Tls, root: SdsSecretConfig): Common {
  if (!validatesClient(tls)) return {};
  const crl = tls.caCrl ? { crl: { specifier: { case: "filename" as const, value: tls.caCrl } } } : {};
  return combined({ ...clientNames(tls), ...crl }, root);
}

function credentialValidation(view: View<BuildFacet>, tls: Tls): Common {
  if (!validatesClient(tls)) {
    const names = clientNames(tls);
    return (tls.subjectAltNames ?? []).length === 0
      ? {}
      : {
          validationContextType: {
            case: "validationContext",
            value: { matchSubjectAltNames: names.matchSubjectAltNames ?? [] },
          },
        };
  }
  const pins = {
    verifyCertificateSpki: [...(tls.verifyCertificateSpki ?? [])],
    verifyCertificateHash: [...(tls.verifyCertificateHash ?? [])],
  };
  return combined({ ...clientNames(tls), ...pins }, namedSecret(view, caCredentialName(tls)));
}

function clientNames(tls: Tls): Fields<typeof CertificateValidationContextSchema> {
  return {
    matchSubjectAltNames: (tls.subjectAltNames ?? []).map((name) => exactMatch(name)),
    ...(tls.insecureSkipVerify ? { trustChainVerification: TrustChain.ACCEPT_UNTRUSTED } : {}),
  };
}

const combined = (
  defaultValidationContext: Fields<typeof CertificateValidationContextSchema>,
  validationContextSdsSecretConfig: SdsSecretConfig,
): Common => ({
  validationContextType: {
    case: "combinedValidationContext",
    value: { defaultValidationContext, validationContextSdsSecretConfig },
  },
});

/** `sds://` names are asked of the server beside the proxy, else of the one that mesh config declares, where it does. */
function namedSecret(view: View<BuildFacet>, name: string): SdsSecretConfig {
  const isBeside = hasCredentialServer(view.proxy);
  const external =
    isExternal(name) && !isBeside ? view.mesh.settings().extensionProviders?.find(({ sds }) => sds)?.sds : undefined;
  const target = external && providerCluster(view, external.service, external.port);
  return target ? externalSecret(externalName(name), target.cluster, target.host) : credentialSecret(name, isBeside);
}

/** The mesh's defaults, then the server's own; undefined where neither says anything. */
function tlsParameters(view: View<BuildFacet>, tls: Tls): Fields<typeof TlsParametersSchema> | undefined {
  const defaults = view.mesh.settings().tlsDefaults ?? {};
  const suites = [...new Set(tls.cipherSuites ?? [])].filter((suite) => knownCipherSuites.has(suite));
  const cipherSuites = suites.length > 0 ? suites : [...(defaults.cipherSuites ?? [])];
  const ecdhCurves = [...((tls.ecdhCurves ?? []).length > 0 ? (tls.ecdhCurves ?? []) : (defaults.ecdhCurves ?? []))];
  const lowest = versions[tls.minProtocolVersion ?? ""] ?? defaultMinimum(defaults.minProtocolVersion);
  const highest = versions[tls.maxProtocolVersion ?? ""];
  if (cipherSuites.length + ecdhCurves.length === 0 && lowest === undefined && highest === undefined) return undefined;
  return {
    cipherSuites,
    ecdhCurves,
    ...(lowest === undefined ? {} : { tlsMinimumProtocolVersion: lowest }),
    ...(highest === undefined ? {} : { tlsMaximumProtocolVersion: highest }),
  };
}

const defaultMinimum = (version: string | undefined): TlsParameters_TlsProtocol | undefined =>
  version === undefined || version === "TLS_AUTO" ? undefined : versions[version];
