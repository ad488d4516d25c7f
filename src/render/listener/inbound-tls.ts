/** An mTLS mode in; the TLS context with which a sidecar answers clients of the mesh out. */
import { create } from "@bufbuild/protobuf";
import type { TransportSocket } from "../../gen/envoy/config/core/v3/base_pb.js";
import {
  CertificateValidationContextSchema,
  TlsParameters_TlsProtocol,
} from "../../gen/envoy/extensions/transport_sockets/tls/v3/common_pb.js";
import { DownstreamTlsContextSchema } from "../../gen/envoy/extensions/transport_sockets/tls/v3/tls_pb.js";
import type { BuildFacet, InboundFacet } from "../../model/index.ts";
import { prefixMatch } from "../build/match.ts";
import {
  agentSecret,
  certificateFilesSecret,
  downstreamTlsSocket,
  rootFileSecret,
  rootSecret,
  workloadSecret,
} from "../build/tls.ts";
import { inboundTcpAlpn } from "../proxy/profile.ts";
import { fileServer } from "../proxy/secret-server.ts";
import type { View } from "../view.ts";

const ciphers = [
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "AES256-GCM-SHA384",
  "AES128-GCM-SHA256",
];

/** Clients must have an identity of a trust domain that this mesh knows. */
export function inboundMtlsSocket(view: View<InboundFacet>, kind: "http" | "tcp"): TransportSocket {
  const { meshMTLS } = view.mesh.settings();
  const context = create(DownstreamTlsContextSchema, {
    requireClientCertificate: true,
    commonTlsContext: {
      // HTTP never answers with Istio's own names: they would keep HTTP/2 from being agreed on.
      alpnProtocols: [...(kind === "tcp" ? inboundTcpAlpn(view.proxy) : ["h2", "http/1.1"])],
      tlsParams: {
        cipherSuites: [...(meshMTLS?.cipherSuites ?? ciphers)],
        tlsMinimumProtocolVersion:
          meshMTLS?.minProtocolVersion === "TLSV1_3"
            ? TlsParameters_TlsProtocol.TLSv1_3
            : TlsParameters_TlsProtocol.TLSv1_2,
        tlsMaximumProtocolVersion: TlsParameters_TlsProtocol.TLSv1_3,
      },
      tlsCertificateSdsSecretConfigs: [ownCertificate(view.proxy)],
      validationContextType: {
        case: "combinedValidationContext",
        value: {
          defaultValidationContext: create(CertificateValidationContextSchema, {
            matchSubjectAltNames: trustDomains(view).map((domain) => prefixMatch(`spiffe://${domain}/`)),
          }),
          validationContextSdsSecretConfig: ownRoot(view.proxy),
        },
      },
    },
  });
  return downstreamTlsSocket(context);
}

function trustDomains(view: View<InboundFacet>): readonly string[] {
  const { trustDomain, trustDomainAliases, caCertificates } = view.mesh.settings();
  const all = [
    trustDomain,
    ...(trustDomainAliases ?? []),
    ...(caCertificates ?? []).flatMap((ca) => ca.trustDomains ?? []),
  ];
  return [...new Set(all.flatMap((domain) => domain || []))];
}

/** Certificates mounted as files are named in the proxy's metadata. */
export function ownCertificate(proxy: BuildFacet) {
  const { TLS_SERVER_CERT_CHAIN: chain, TLS_SERVER_KEY: key } = proxy.metadata;
  return chain && key ? certificateFilesSecret(chain, key, fileServer(proxy)) : agentSecret(workloadSecret);
}

export function ownRoot(proxy: BuildFacet) {
  const { TLS_SERVER_ROOT_CERT: root } = proxy.metadata;
  return root ? rootFileSecret(root, fileServer(proxy)) : agentSecret(rootSecret);
}
