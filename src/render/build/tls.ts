/** Names of secrets and of certificate files in; the pieces of Envoy's TLS contexts out. */
import { create } from "@bufbuild/protobuf";
import {
  DataSourceSchema,
  type TransportSocket,
  TransportSocketSchema,
} from "../../gen/envoy/config/core/v3/base_pb.js";
import {
  ApiConfigSource_ApiType,
  ApiVersion,
  type ConfigSource,
  ConfigSourceSchema,
} from "../../gen/envoy/config/core/v3/config_source_pb.js";
import { RawBufferSchema } from "../../gen/envoy/extensions/transport_sockets/raw_buffer/v3/raw_buffer_pb.js";
import {
  type CertificateValidationContext,
  CertificateValidationContextSchema,
} from "../../gen/envoy/extensions/transport_sockets/tls/v3/common_pb.js";
import {
  type SdsSecretConfig,
  SdsSecretConfigSchema,
} from "../../gen/envoy/extensions/transport_sockets/tls/v3/secret_pb.js";
import {
  type CommonTlsContext,
  CommonTlsContext_CombinedCertificateValidationContextSchema,
  type DownstreamTlsContext,
  DownstreamTlsContextSchema,
  type UpstreamTlsContext,
  UpstreamTlsContextSchema,
} from "../../gen/envoy/extensions/transport_sockets/tls/v3/tls_pb.js";
import { credentialServer, type SecretServer } from "../proxy/secret-server.ts";
import { packAny } from "./any.ts";
import { seconds } from "./duration.ts";
import { exactMatch } from "./match.ts";

/** Secrets that the agent beside Envoy holds. */
export const workloadSecret = "default";
export const rootSecret = "ROOTCA";

const builtinPrefix = "builtin://";
const invalidName = "invalid://";
const typedPrefixes = ["kubernetes://", "kubernetes-gateway://", "configmap://"];
const externalPrefix = "sds://";
const caSuffix = "-cacert";

/** The workload's own secrets must be there before traffic, so Envoy waits for them without end; others it may lack. */
function serverSource(wait: boolean, clusterName: string, authority = ""): ConfigSource {
  return create(ConfigSourceSchema, {
    configSourceSpecifier: {
      case: "apiConfigSource",
      value: {
        apiType: ApiConfigSource_ApiType.GRPC,
        transportApiVersion: ApiVersion.V3,
        setNodeOnFirstMessageOnly: true,
        grpcServices: [{ targetSpecifier: { case: "envoyGrpc", value: { clusterName, authority } } }],
      },
    },
    ...(wait ? { initialFetchTimeout: seconds(0) } : {}),
    resourceApiVersion: ApiVersion.V3,
  });
}

// Nearly every cluster and listener refers to these two: made once, never changed.
const ownSecrets: ReadonlyMap<string, SdsSecretConfig> = new Map(
  [workloadSecret, rootSecret].map((name) => [
    name,
    create(SdsSecretConfigSchema, { name, sdsConfig: serverSource(true, "sds-grpc") }),
  ]),
);

/** A secret that the agent, or whoever stands for it, serves: `default` or `ROOTCA`. */
export function agentSecret(name: typeof workloadSecret | typeof rootSecret): SdsSecretConfig {
  return ownSecrets.get(name) ?? fileSecret(name, "sds-grpc");
}

function fileSecret(name: string, server: SecretServer): SdsSecretConfig {
  return create(SdsSecretConfigSchema, { name, sdsConfig: serverSource(false, server) });
}

export function certificateFilesSecret(certificate: string, key: string, server: SecretServer): SdsSecretConfig {
  return fileSecret(`file-cert:${certificate}~${key}`, server);
}

/** `system` stands for the roots of the operating system. */
export function rootFileSecret(path: string, server: SecretServer): SdsSecretConfig {
  return fileSecret(`file-root:${path}`, server);
}

/** What a server of somebody else's is asked for. */
export function externalSecret(name: string, clusterName: string, authority = ""): SdsSecretConfig {
  return create(SdsSecretConfigSchema, { name, sdsConfig: serverSource(false, clusterName, authority) });
}

/** Whether a `credentialName` is one that others may know. */
export const isExternal = (name: string): boolean => name.startsWith(externalPrefix);

/** The name that a server in the mesh is asked by. */
export const externalName = (name: string): string => name.slice(externalPrefix.length);

/**
 * A secret named by `credentialName`, kept in Kubernetes and served over ADS. A missing one must not hold up the rest. Where
 * somebody serves credentials beside the proxy, who is asked for names that begin with `sds://`, whole.
 */
export function credentialSecret(name: string, hasServer: boolean): SdsSecretConfig {
  if (hasServer && isExternal(name)) return externalSecret(name, credentialServer);
  if (name === builtinPrefix) return agentSecret(workloadSecret);
  if (name === builtinPrefix + caSuffix) return agentSecret(rootSecret);
  return create(SdsSecretConfigSchema, {
    name: credentialResource(name),
    sdsConfig: { configSourceSpecifier: { case: "ads", value: {} }, resourceApiVersion: ApiVersion.V3 },
  });
}

/** The CA that belongs to a credential: its own secret, or one with this suffix beside it. */
export function credentialCaSecret(name: string, hasServer: boolean): SdsSecretConfig {
  return credentialSecret(name + caSuffix, hasServer);
}

/** The SDS resource that a `credentialName` asks for. */
export function credentialResource(name: string): string {
  const bare = name.startsWith(externalPrefix) ? name.slice(externalPrefix.length) : name;
  if (bare.startsWith(builtinPrefix)) return workloadSecret;
  if (bare.startsWith(invalidName)) return invalidName;
  return typedPrefixes.some((prefix) => bare.startsWith(prefix)) ? bare : `kubernetes://${bare}`;
}

export interface Validation {
  readonly root: SdsSecretConfig;
  readonly subjectAltNames?: readonly string[];
  readonly crl?: string | undefined;
}

/** Trust in a root that comes over SDS, with demands on the peer's names. */
export function combinedValidation(validation: Validation): CommonTlsContext["validationContextType"] {
  const defaultValidationContext = peerNames(validation.subjectAltNames ?? []);
  if (validation.crl) {
    defaultValidationContext.crl = create(DataSourceSchema, { specifier: { case: "filename", value: validation.crl } });
  }
  return {
    case: "combinedValidationContext",
    value: create(CommonTlsContext_CombinedCertificateValidationContextSchema, {
      defaultValidationContext,
      validationContextSdsSecretConfig: validation.root,
    }),
  };
}

/** Istio writes names in the older, untyped field: it checks URIs and DNS names alike. */
function peerNames(subjectAltNames: readonly string[]): CertificateValidationContext {
  return create(CertificateValidationContextSchema, {
    matchSubjectAltNames: subjectAltNames.map((name) => exactMatch(name)),
  });
}

const tlsSocketName = "envoy.transport_sockets.tls";

export function upstreamTlsSocket(context: UpstreamTlsContext): TransportSocket {
  return tlsSocket(packAny(UpstreamTlsContextSchema, context));
}

export function downstreamTlsSocket(context: DownstreamTlsContext): TransportSocket {
  return tlsSocket(packAny(DownstreamTlsContextSchema, context));
}

function tlsSocket(config: ReturnType<typeof packAny>): TransportSocket {
  return create(TransportSocketSchema, { name: tlsSocketName, configType: { case: "typedConfig", value: config } });
}

export const rawBufferSocket: TransportSocket = create(TransportSocketSchema, {
  name: "envoy.transport_sockets.raw_buffer",
  configType: { case: "typedConfig", value: packAny(RawBufferSchema, {}) },
});
