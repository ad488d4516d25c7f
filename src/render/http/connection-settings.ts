/** Connection manager settings and a proxy in; the same settings under the proxy's limits and timeouts out. */

import {
  type Http2ProtocolOptionsSchema,
  type HttpProtocolOptionsSchema,
  HttpProtocolOptions_HeadersWithUnderscoresAction as Underscores,
} from "../../gen/envoy/config/core/v3/protocol_pb.js";
import { HttpConnectionManager_PathWithEscapedSlashesAction as EscapedSlashes } from "../../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import type { BuildFacet, ProxyConfigConnectionSettings } from "../../model/index.ts";
import { duration } from "../build/duration.ts";
import type { Fields } from "../build/fields.ts";
import { connectionSettings } from "../proxy/proxy-config.ts";
import type { HcmInit } from "./chain.ts";

const underscores: Readonly<Record<string, Underscores>> = {
  HEADERS_WITH_UNDERSCORES_ALLOW: Underscores.ALLOW,
  HEADERS_WITH_UNDERSCORES_REJECT_REQUEST: Underscores.REJECT_REQUEST,
  HEADERS_WITH_UNDERSCORES_DROP_HEADER: Underscores.DROP_HEADER,
};

const escapedSlashes: Readonly<Record<string, EscapedSlashes>> = {
  KEEP_UNCHANGED: EscapedSlashes.KEEP_UNCHANGED,
  REJECT_REQUEST: EscapedSlashes.REJECT_REQUEST,
  UNESCAPE_AND_REDIRECT: EscapedSlashes.UNESCAPE_AND_REDIRECT,
  UNESCAPE_AND_FORWARD: EscapedSlashes.UNESCAPE_AND_FORWARD,
};

/** ProxyConfig wins over the mesh's path normalization. */
export function appliedConnectionSettings(base: HcmInit, proxy: BuildFacet): HcmInit {
  const set = connectionSettings(proxy);
  const common = commonOptions(set, proxy.metadata.IDLE_TIMEOUT);
  const http2 = http2Options(set);
  const slashes = escapedSlashes[set.httpPathWithEscapedSlashesAction ?? ""];
  return {
    ...base,
    ...(common ? { commonHttpProtocolOptions: common } : {}),
    ...(http2 ? { http2ProtocolOptions: http2 } : {}),
    ...defined({
      streamIdleTimeout: duration(set.httpStreamIdleTimeout),
      requestTimeout: duration(set.httpRequestTimeout),
      requestHeadersTimeout: duration(set.httpRequestHeadersTimeout),
      drainTimeout: duration(set.httpDrainTimeout),
      mergeSlashes: set.httpMergeSlashes,
      pathWithEscapedSlashesAction: slashes,
    }),
  };
}

function commonOptions(
  set: ProxyConfigConnectionSettings,
  idleTimeout: string | undefined,
): Fields<typeof HttpProtocolOptionsSchema> | undefined {
  const options = defined({
    idleTimeout: duration(set.httpIdleTimeout) ?? duration(idleTimeout || undefined),
    maxConnectionDuration: duration(set.httpMaxConnectionDuration),
    maxStreamDuration: duration(set.httpMaxStreamDuration),
    headersWithUnderscoresAction: underscores[set.httpHeadersWithUnderscoresAction ?? ""],
  });
  return Object.keys(options).length === 0 ? undefined : options;
}

function http2Options(set: ProxyConfigConnectionSettings): Fields<typeof Http2ProtocolOptionsSchema> | undefined {
  const wanted = [set.httpMaxConcurrentStreams, set.http2InitialStreamWindowSize, set.http2InitialConnectionWindowSize];
  if (wanted.every((value) => value === undefined)) return undefined;
  return defined({
    maxConcurrentStreams: positive(set.httpMaxConcurrentStreams),
    initialStreamWindowSize: positive(set.http2InitialStreamWindowSize),
    initialConnectionWindowSize: positive(set.http2InitialConnectionWindowSize),
  });
}

/** A negative number would become one near 2^32. */
export const positive = (value: number | undefined): number | undefined =>
  value === undefined || value < 0 ? undefined : value;

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

function defined<T extends Record<string, unknown>>(fields: T): Defined<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>;
}
