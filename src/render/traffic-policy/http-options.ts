/** A port's protocol and its connection pool in; how Envoy speaks HTTP to the upstream out, as plain data. */
import {
  type BuildFacet,
  type ConnectionPoolHTTPSettings,
  type ConnectionPoolHttpKeepalive,
  type ConnectionPoolSettings,
  isHttp,
  isHttp2,
  isSniffed,
  type MeshConfigSpec,
  type OutlierDetection,
  type Protocol,
} from "../../model/index.ts";
import { proxyConfig } from "../proxy/proxy-config.ts";

export interface HttpOptions {
  /** `downstream`: whatever the client spoke. Undefined where nothing is known: HTTP/1.1, if it is HTTP at all. */
  readonly upstream: "http1" | "http2" | "downstream" | undefined;
  /** HTTP/1 header names keep the case that the peer wrote. */
  readonly preserveCase: boolean;
  /** Present, even when empty, as soon as one of its settings was given. */
  readonly common: CommonHttpOptions | undefined;
  readonly maxConcurrentStreams: number | undefined;
  readonly keepAlive: ConnectionPoolHttpKeepalive | undefined;
  readonly autoSni: boolean;
  readonly autoSanValidation: boolean;
  /** Status codes that count as failures for outlier detection, instead of 5xx. */
  readonly errorCodes: readonly number[];
}

/** Nothing is known of the upstream. */
export const unknownHttp: HttpOptions = {
  upstream: undefined,
  preserveCase: false,
  common: undefined,
  maxConcurrentStreams: undefined,
  keepAlive: undefined,
  autoSni: false,
  autoSanValidation: false,
  errorCodes: [],
};

interface CommonHttpOptions {
  readonly idleTimeout: string | undefined;
  readonly maxConnectionDuration: string | undefined;
  readonly maxRequestsPerConnection: number;
}

export interface HttpSource {
  readonly proxy: BuildFacet;
  readonly protocol: Protocol;
  readonly settings: MeshConfigSpec;
  readonly pool: ConnectionPoolSettings | undefined;
  readonly outlier: OutlierDetection | undefined;
  readonly inbound: boolean;
}

export function httpOptions(source: HttpSource): HttpOptions {
  const declared = declaredUpstream(source.protocol, source.proxy);
  const upgraded = !source.inbound && declared.upstream === undefined && upgradesToHttp2(source);
  const http = source.pool?.http;
  const spoken = upgraded ? { upstream: "http2" as const, preserveCase: false } : declared;
  const final = http?.useClientProtocol
    ? { upstream: "downstream" as const, preserveCase: spoken.upstream === "http1" && spoken.preserveCase }
    : spoken;
  return {
    ...unknownHttp,
    ...final,
    common: commonOptions(source.pool),
    maxConcurrentStreams: final.upstream === "http2" ? positive(http?.maxConcurrentStreams) : undefined,
    keepAlive: final.upstream === "http2" ? http?.http2KeepAlive : undefined,
    errorCodes: source.inbound ? [] : (source.outlier?.outlierDetectionHttpErrorCodes ?? []),
  };
}

/** Gateways do not sniff: their clients could negotiate HTTP/2 where the upstream has none. */
function declaredUpstream(protocol: Protocol, proxy: BuildFacet): Pick<HttpOptions, "upstream" | "preserveCase"> {
  if (isHttp2(protocol)) return { upstream: "http2", preserveCase: false };
  const preserveCase = (isHttp(protocol) || isSniffed(protocol)) && preservesHeaderCase(proxy);
  if (proxy.type === "sidecar" && isSniffed(protocol)) return { upstream: "downstream", preserveCase };
  return { upstream: preserveCase ? "http1" : undefined, preserveCase };
}

/** A rule's word holds for any port, because its author knows the port; the mesh-wide one for ports declared as HTTP. */
function upgradesToHttp2({ protocol, settings, pool }: HttpSource): boolean {
  const policy = pool?.http?.h2UpgradePolicy ?? "DEFAULT";
  if (pool?.http?.useClientProtocol || policy === "DO_NOT_UPGRADE") return false;
  if (policy === "UPGRADE") return true;
  return isHttp(protocol) && settings.h2UpgradePolicy === "UPGRADE";
}

function commonOptions(pool: ConnectionPoolSettings | undefined): CommonHttpOptions | undefined {
  const http: ConnectionPoolHTTPSettings = pool?.http ?? {};
  const options = {
    idleTimeout: http.idleTimeout ?? pool?.tcp?.idleTimeout,
    maxConnectionDuration: pool?.tcp?.maxConnectionDuration,
    maxRequestsPerConnection: positive(http.maxRequestsPerConnection) ?? 0,
  };
  const given =
    options.idleTimeout !== undefined ||
    options.maxConnectionDuration !== undefined ||
    options.maxRequestsPerConnection > 0 ||
    positive(http.maxConcurrentStreams) !== undefined ||
    http.http2KeepAlive !== undefined;
  return given ? options : undefined;
}

export function preservesHeaderCase(proxy: BuildFacet): boolean {
  return proxyConfig(proxy).proxyHeaders?.preserveHttp1HeaderCase === true;
}

function positive(value: number | undefined): number | undefined {
  return value !== undefined && value > 0 ? value : undefined;
}
