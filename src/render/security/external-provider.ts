/** The name of an extension provider in; how Envoy asks the external authorisation service behind it, or why it cannot, out. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { ApiVersion } from "../../gen/envoy/config/core/v3/config_source_pb.js";
import type { GrpcServiceSchema } from "../../gen/envoy/config/core/v3/grpc_service_pb.js";
import { ExtAuthzSchema } from "../../gen/envoy/extensions/filters/http/ext_authz/v3/ext_authz_pb.js";
import { ExtAuthzSchema as TcpExtAuthzSchema } from "../../gen/envoy/extensions/filters/network/ext_authz/v3/ext_authz_pb.js";
import type { ListStringMatcherSchema } from "../../gen/envoy/type/matcher/v3/string_pb.js";
import { type StatusCode, StatusCodeSchema } from "../../gen/envoy/type/v3/http_status_pb.js";
import { compareText } from "../../lib/index.ts";
import type {
  ExtensionProvider,
  ExtensionProviderEnvoyExternalAuthorizationGrpcProvider as GrpcProvider,
  ExtensionProviderEnvoyExternalAuthorizationHttpProvider as HttpProvider,
  InboundFacet,
} from "../../model/index.ts";
import { brokenConstraint } from "../build/constraints.ts";
import { duration, seconds } from "../build/duration.ts";
import type { Fields } from "../build/fields.ts";
import { exactMatch, prefixMatch, suffixMatch } from "../build/match.ts";
import { type ProviderCluster, providerCluster } from "../telemetry/provider.ts";
import type { View } from "../view.ts";

export type HttpExtAuthz = Fields<typeof ExtAuthzSchema>;
export type TcpExtAuthz = Fields<typeof TcpExtAuthzSchema>;

export interface ExternalProvider {
  readonly http: HttpExtAuthz;
  /** Absent where the service speaks HTTP only: nothing can be asked about a raw connection. */
  readonly tcp: TcpExtAuthz | undefined;
}

export type Problem = { readonly problem: string };

/** Names are compared as they are; a name that two providers have is nobody's. */
export function externalProvider(view: View<InboundFacet>, name: string): ExternalProvider | Problem {
  const found = (view.mesh.settings().extensionProviders ?? []).filter(
    (provider) => provider.name === name && (provider.envoyExtAuthzHttp || provider.envoyExtAuthzGrpc),
  );
  const [provider] = found;
  if (!provider) return { problem: "there is no such provider of external authorisation" };
  if (found.length > 1) return { problem: "the name is not unique" };
  // It becomes part of the names of rules and of metadata values.
  if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name)) return { problem: "the name must be a DNS label" };
  return build(view, provider);
}

function build(view: View<InboundFacet>, { envoyExtAuthzHttp: http, envoyExtAuthzGrpc: grpc }: ExtensionProvider) {
  const settings = http ?? grpc ?? {};
  const { service, port = 0 } = settings;
  if (port < 1 || port > 65535) return { problem: `port ${port} is out of range` };
  const cluster = providerCluster(view, service, port);
  if (!cluster) return { problem: `service ${service ?? ""} is not known, or in more than one namespace` };
  const status = statusOnError(settings.statusOnError ?? "");
  if (status && "problem" in status) return status;
  const wrong = http && httpProblem(http);
  if (wrong !== undefined) return { problem: wrong };
  return sound(http ? httpProvider(http, cluster, status) : grpcProvider(grpc ?? {}, cluster, status));
}

/** Settings that Envoy would refuse would take the whole listener with them. */
function sound(provider: ExternalProvider): ExternalProvider | Problem {
  const broken =
    brokenConstraint(ExtAuthzSchema, create(ExtAuthzSchema, provider.http)) ??
    (provider.tcp && brokenConstraint(TcpExtAuthzSchema, create(TcpExtAuthzSchema, provider.tcp)));
  return broken === undefined ? provider : { problem: `Envoy does not accept ${broken}` };
}

/** One of the codes that Envoy has a name for. */
function statusOnError(text: string): { readonly code: StatusCode } | Problem | undefined {
  if (text === "") return undefined;
  const code = /^[+-]?\d+$/.test(text) ? Number(text) : Number.NaN;
  const known = StatusCodeSchema.values.find(({ number }) => number === code);
  return known ? { code: known.number } : { problem: `statusOnError ${text} is not a status that Envoy knows` };
}

function httpProblem(http: HttpProvider): string | undefined {
  const prefix = http.pathPrefix ?? "";
  if (prefix !== "" && !prefix.startsWith("/")) return `pathPrefix ${prefix} does not begin with /`;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  if (/[\x00-\x1f\x7f]/.test(prefix) || /^[^?#]*%(?![0-9a-f]{2})/i.test(prefix)) return "pathPrefix is not a path";
  const lists = [
    http.includeRequestHeadersInCheck,
    http.includeHeadersInCheck,
    http.headersToDownstreamOnDeny,
    http.headersToDownstreamOnAllow,
    http.headersToUpstreamOnAllow,
  ];
  return lists.some((list) => list?.includes("*")) ? "`*` alone is no name of a header" : undefined;
}

function httpProvider(
  http: HttpProvider,
  { host, cluster }: ProviderCluster,
  status: { readonly code: StatusCode } | undefined,
): ExternalProvider {
  const timeout = timeoutOf(http.timeout);
  const added = Object.entries(http.includeAdditionalHeadersInCheck ?? {}).sort(([a], [b]) => compareText(a, b));
  const headersToAdd = added.map(([key, value]) => ({ key, value }));
  const allowed = headerNames(http.includeRequestHeadersInCheck) ?? headerNames(http.includeHeadersInCheck);
  const [upstream, onDeny, onAllow] = [
    headerNames(http.headersToUpstreamOnAllow),
    headerNames(http.headersToDownstreamOnDeny),
    headerNames(http.headersToDownstreamOnAllow),
  ];
  const response = {
    ...(upstream ? { allowedUpstreamHeaders: upstream } : {}),
    ...(onDeny ? { allowedClientHeaders: onDeny } : {}),
    ...(onAllow ? { allowedClientHeadersOnSuccess: onAllow } : {}),
  };
  const service = {
    pathPrefix: http.pathPrefix ?? "",
    // Envoy wants a URI and does not use it.
    serverUri: { uri: `http://${host}`, timeout, httpUpstreamType: { case: "cluster" as const, value: cluster } },
    ...(headersToAdd.length > 0 ? { authorizationRequest: { headersToAdd } } : {}),
    ...(Object.keys(response).length > 0 ? { authorizationResponse: response } : {}),
  };
  return {
    http: {
      ...commonHttp(http, status),
      services: { case: "httpService", value: service },
      ...(allowed ? { allowedHeaders: allowed } : {}),
    },
    tcp: undefined,
  };
}

function grpcProvider(
  grpc: GrpcProvider,
  { host, cluster }: ProviderCluster,
  status: { readonly code: StatusCode } | undefined,
): ExternalProvider {
  const service: MessageInitShape<typeof GrpcServiceSchema> = {
    targetSpecifier: { case: "envoyGrpc", value: { clusterName: cluster, authority: host } },
    timeout: timeoutOf(grpc.timeout),
  };
  return {
    http: { ...commonHttp(grpc, status), services: { case: "grpcService", value: service } },
    tcp: {
      statPrefix: "tcp.",
      failureModeAllow: grpc.failOpen ?? false,
      transportApiVersion: ApiVersion.V3,
      grpcService: service,
    },
  };
}

/** R31: what cannot be asked is refused, unless the mesh says otherwise. */
function commonHttp(
  { failOpen, includeRequestBodyInCheck: body }: HttpProvider | GrpcProvider,
  status: { readonly code: StatusCode } | undefined,
): HttpExtAuthz {
  return {
    ...(status ? { statusOnError: status } : {}),
    failureModeAllow: failOpen ?? false,
    transportApiVersion: ApiVersion.V3,
    ...(body
      ? {
          withRequestBody: {
            maxRequestBytes: body.maxRequestBytes ?? 0,
            allowPartialMessage: body.allowPartialMessage ?? false,
            packAsBytes: body.packAsBytes ?? false,
          },
        }
      : {}),
  };
}

/** Istio's default; Envoy would give up after 200 ms. */
const timeoutOf = (text: string | undefined) => duration(text) ?? seconds(600);

function headerNames(
  names: readonly string[] | undefined,
): MessageInitShape<typeof ListStringMatcherSchema> | undefined {
  if (!names || names.length === 0) return undefined;
  return {
    patterns: names.map((name) => {
      if (name.startsWith("*")) return suffixMatch(name.slice(1), true);
      return name.endsWith("*") ? prefixMatch(name.slice(0, -1), true) : exactMatch(name, true);
    }),
  };
}
