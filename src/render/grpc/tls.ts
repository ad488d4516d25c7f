/** Names that a peer must have in; TLS contexts out that take certificates and roots from the files the agent writes. */
import { create } from "@bufbuild/protobuf";
import type { TransportSocket } from "../../gen/envoy/config/core/v3/base_pb.js";
import {
  type CommonTlsContext,
  CommonTlsContextSchema,
  DownstreamTlsContextSchema,
  UpstreamTlsContextSchema,
} from "../../gen/envoy/extensions/transport_sockets/tls/v3/tls_pb.js";
import { exactMatch } from "../build/match.ts";
import { downstreamTlsSocket, rootSecret, upstreamTlsSocket, workloadSecret } from "../build/tls.ts";

/** As the agent's bootstrap calls the provider that watches those files. */
const instanceName = "default";
const ownCertificate = { instanceName, certificateName: workloadSecret };
const roots = { instanceName, certificateName: rootSecret };

/** Both the current fields and those that clients before gRPC 1.66 know. */
function filesContext(subjectAltNames: readonly string[]): CommonTlsContext {
  return create(CommonTlsContextSchema, {
    tlsCertificateProviderInstance: ownCertificate,
    tlsCertificateCertificateProviderInstance: ownCertificate,
    validationContextType: {
      case: "combinedValidationContext",
      value: {
        validationContextCertificateProviderInstance: roots,
        defaultValidationContext: {
          matchSubjectAltNames: subjectAltNames.map((name) => exactMatch(name)),
          caCertificateProviderInstance: roots,
        },
      },
    },
  });
}

export const clientSocket = (servers: readonly string[]): TransportSocket =>
  upstreamTlsSocket(create(UpstreamTlsContextSchema, { commonTlsContext: filesContext(servers) }));

/** gRPC servers cannot be told which names clients may have: whoever the roots vouch for is let in, and policies decide. */
export const serverSocket = (): TransportSocket =>
  downstreamTlsSocket(
    create(DownstreamTlsContextSchema, { commonTlsContext: filesContext([]), requireClientCertificate: true }),
  );
