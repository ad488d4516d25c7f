/** How a client secures its connections in; the transport sockets of a cluster out. */
import { create } from "@bufbuild/protobuf";
import {
  type Cluster_TransportSocketMatch,
  Cluster_TransportSocketMatchSchema,
} from "../../gen/envoy/config/cluster/v3/cluster_pb.js";
import { type TransportSocket, TransportSocketSchema } from "../../gen/envoy/config/core/v3/base_pb.js";
import { ProxyProtocolConfig_Version } from "../../gen/envoy/config/core/v3/proxy_protocol_pb.js";
import { ProxyProtocolUpstreamTransportSchema } from "../../gen/envoy/extensions/transport_sockets/proxy_protocol/v3/upstream_proxy_protocol_pb.js";
import {
  CertificateValidationContextSchema,
  type TlsParameters,
  TlsParameters_TlsProtocol,
  TlsParametersSchema,
} from "../../gen/envoy/extensions/transport_sockets/tls/v3/common_pb.js";
import {
  type CommonTlsContext,
  UpstreamTlsContextSchema,
} from "../../gen/envoy/extensions/transport_sockets/tls/v3/tls_pb.js";
import type { MeshConfigTLSConfig } from "../../model/index.ts";
import { packAny } from "../build/any.ts";
import {
  agentSecret,
  certificateFilesSecret,
  combinedValidation,
  credentialCaSecret,
  credentialSecret,
  rawBufferSocket,
  rootFileSecret,
  rootSecret,
  upstreamTlsSocket,
  workloadSecret,
} from "../build/tls.ts";
import type { SecretServer } from "../proxy/secret-server.ts";
import type { ClientTls } from "./tls.ts";

export interface ClusterSockets {
  readonly transportSocket?: TransportSocket;
  readonly transportSocketMatches: Cluster_TransportSocketMatch[];
}

export interface SocketOptions {
  /** SNI of Istio's mTLS where none is set; "" leaves it to each request. */
  readonly defaultSni: string;
  /** What Istio's mTLS offers. */
  readonly meshAlpn: string[];
  readonly http2: boolean;
  readonly tlsDefaults: MeshConfigTLSConfig | undefined;
  /** The endpoints are Envoy's own find, so no endpoint says what it takes: one socket for all. */
  readonly originalDestination: boolean;
  readonly proxyProtocol: "V1" | "V2" | undefined;
  readonly fileServer: SecretServer;
  /** Somebody serves credentials beside the proxy. */
  readonly hasCredentialServer: boolean;
}

export function clusterSockets(tls: ClientTls, options: SocketOptions): ClusterSockets {
  return withProxyProtocol(plainSockets(tls, options), options.proxyProtocol);
}

function plainSockets(tls: ClientTls, options: SocketOptions): ClusterSockets {
  if (tls.mode === "plain") return { transportSocketMatches: [] };
  const transportSocket = tls.mode === "mesh" ? meshSocket(tls, options) : userSocket(tls, options);
  if (tls.mode === "user" || !tls.auto || options.originalDestination)
    return { transportSocket, transportSocketMatches: [] };
  return {
    transportSocketMatches: [match("tlsMode-istio", { tlsMode: "istio" }, transportSocket), plaintextMatch],
  };
}

function match(
  name: string,
  labels: Record<string, string>,
  transportSocket: TransportSocket,
): Cluster_TransportSocketMatch {
  return create(Cluster_TransportSocketMatchSchema, { name, match: labels, transportSocket });
}

const plaintextMatch = match("tlsMode-disabled", {}, rawBufferSocket);

/** TLS has no room for a longer one, and Envoy refuses it. */
const serverName = (name: string): string => (Buffer.byteLength(name) > 255 ? "" : name);

function meshSocket(tls: ClientTls & { mode: "mesh" }, options: SocketOptions): TransportSocket {
  return upstreamTlsSocket(
    create(UpstreamTlsContextSchema, {
      sni: serverName(tls.sni || options.defaultSni),
      commonTlsContext: {
        tlsParams: meshParameters,
        tlsCertificateSdsSecretConfigs: [agentSecret(workloadSecret)],
        validationContextType: combinedValidation({
          root: agentSecret(rootSecret),
          subjectAltNames: tls.subjectAltNames,
        }),
        alpnProtocols: options.meshAlpn,
      },
    }),
  );
}

function userSocket(tls: ClientTls & { mode: "user" }, options: SocketOptions): TransportSocket {
  const { settings, mutual } = tls;
  const certificate = settings.credentialName
    ? credentialSecret(settings.credentialName, options.hasCredentialServer)
    : certificateFilesSecret(settings.clientCertificate ?? "", settings.privateKey ?? "", options.fileServer);
  return upstreamTlsSocket(
    create(UpstreamTlsContextSchema, {
      sni: serverName(settings.sni ?? ""),
      commonTlsContext: {
        tlsParams: parameters(options.tlsDefaults),
        tlsCertificateSdsSecretConfigs: mutual ? [certificate] : [],
        validationContextType: validation(tls, options),
        alpnProtocols: options.http2 ? ["h2"] : [],
      },
    }),
  );
}

/** Without a CA of their own, servers are checked against the system's roots. */
function validation(
  { settings, subjectAltNames }: ClientTls & { mode: "user" },
  options: SocketOptions,
): CommonTlsContext["validationContextType"] {
  if (settings.credentialName) {
    if (settings.insecureSkipVerify) return { case: undefined };
    const root = credentialCaSecret(settings.credentialName, options.hasCredentialServer);
    return combinedValidation({ root, subjectAltNames });
  }
  if (settings.insecureSkipVerify)
    return { case: "validationContext", value: create(CertificateValidationContextSchema) };
  const root = rootFileSecret(settings.caCertificates || "system", options.fileServer);
  return combinedValidation({ root, subjectAltNames, crl: settings.caCrl });
}

function parameters(defaults: MeshConfigTLSConfig | undefined): TlsParameters {
  return create(TlsParametersSchema, {
    tlsMinimumProtocolVersion: TlsParameters_TlsProtocol.TLSv1_2,
    tlsMaximumProtocolVersion: TlsParameters_TlsProtocol.TLSv1_3,
    ecdhCurves: [...(defaults?.ecdhCurves ?? [])],
    cipherSuites: [...(defaults?.cipherSuites ?? [])],
  });
}

const meshParameters = parameters(undefined);

/** As Istio names what it wraps; the name has no meaning to Envoy. */
const wrappedRawBuffer = create(TransportSocketSchema, { ...rawBufferSocket, name: "raw_buffer" });

/** The PROXY header goes before TLS, on every way out of the cluster. */
function withProxyProtocol(sockets: ClusterSockets, version: "V1" | "V2" | undefined): ClusterSockets {
  if (version === undefined) return sockets;
  const { transportSocket, transportSocketMatches } = sockets;
  if (transportSocketMatches.length === 0) {
    return { transportSocket: proxied(transportSocket ?? wrappedRawBuffer, version), transportSocketMatches };
  }
  return {
    ...(transportSocket ? { transportSocket: proxied(transportSocket, version) } : {}),
    transportSocketMatches: transportSocketMatches.map((entry) => ({
      ...entry,
      transportSocket: proxied(entry.transportSocket ?? rawBufferSocket, version),
    })),
  };
}

function proxied(inner: TransportSocket, version: "V1" | "V2"): TransportSocket {
  const config = packAny(ProxyProtocolUpstreamTransportSchema, {
    config: { version: version === "V2" ? ProxyProtocolConfig_Version.V2 : ProxyProtocolConfig_Version.V1 },
    transportSocket: inner,
  });
  return create(TransportSocketSchema, {
    name: "envoy.transport_sockets.upstream_proxy_protocol",
    configType: { case: "typedConfig", value: config },
  });
}
