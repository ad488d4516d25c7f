/** What a VirtualService does to a request on its way: match, rewrite, fault, retry, CORS. */
import {
  array,
  boolean,
  bytes,
  double,
  duration,
  enumOf,
  type Infer,
  int32,
  map,
  object,
  string,
  uint32,
} from "./schema.ts";

export const stringMatch = object(
  { exact: string(), prefix: string(), regex: string() },
  { oneOf: [["exact", "prefix", "regex"]] },
);
export type StringMatch = Infer<typeof stringMatch>;

export const headerOperations = object({ set: map(string()), add: map(string()), remove: array(string()) });
export type HeaderOperations = Infer<typeof headerOperations>;

export const routeHeaders = object({ request: headerOperations, response: headerOperations });
export type RouteHeaders = Infer<typeof routeHeaders>;

export const httpRedirect = object(
  {
    uri: string(),
    authority: string(),
    port: uint32(),
    derivePort: enumOf(["FROM_PROTOCOL_DEFAULT", "FROM_REQUEST_PORT"]),
    scheme: string(),
    redirectCode: uint32(),
    prefixRewrite: string(),
  },
  { oneOf: [["port", "derivePort"]] },
);
export type HTTPRedirect = Infer<typeof httpRedirect>;

export const httpBody = object({ string: string(), bytes: bytes() }, { oneOf: [["string", "bytes"]] });
export type HTTPBody = Infer<typeof httpBody>;

export const httpDirectResponse = object({ status: uint32(), body: httpBody }, { required: ["status"] });
export type HTTPDirectResponse = Infer<typeof httpDirectResponse>;

export const regexRewrite = object({ match: string(), rewrite: string() });
export type RegexRewrite = Infer<typeof regexRewrite>;

export const httpRewrite = object({ uri: string(), authority: string(), uriRegexRewrite: regexRewrite });
export type HTTPRewrite = Infer<typeof httpRewrite>;

export const httpRetry = object({
  attempts: int32(),
  perTryTimeout: duration(),
  retryOn: string(),
  retryRemoteLocalities: boolean({ nullable: true }),
  retryIgnorePreviousHosts: boolean({ nullable: true }),
  backoff: duration(),
});
export type HTTPRetry = Infer<typeof httpRetry>;

export const percent = object({ value: double() });
export type Percent = Infer<typeof percent>;

export const httpFaultInjectionDelay = object(
  { percent: int32(), fixedDelay: duration(), exponentialDelay: duration(), percentage: percent },
  { oneOf: [["fixedDelay", "exponentialDelay"]] },
);
export type HTTPFaultInjectionDelay = Infer<typeof httpFaultInjectionDelay>;

export const httpFaultInjectionAbort = object(
  { httpStatus: int32(), grpcStatus: string(), http2Error: string(), percentage: percent },
  { oneOf: [["httpStatus", "grpcStatus", "http2Error"]] },
);
export type HTTPFaultInjectionAbort = Infer<typeof httpFaultInjectionAbort>;

export const httpFaultInjection = object({ delay: httpFaultInjectionDelay, abort: httpFaultInjectionAbort });
export type HTTPFaultInjection = Infer<typeof httpFaultInjection>;

export const corsPolicy = object({
  allowOrigin: array(string()),
  allowOrigins: array(stringMatch),
  allowMethods: array(string()),
  allowHeaders: array(string()),
  exposeHeaders: array(string()),
  maxAge: duration(),
  allowCredentials: boolean({ nullable: true }),
  unmatchedPreflights: enumOf(["UNSPECIFIED", "FORWARD", "IGNORE"]),
});
export type CorsPolicy = Infer<typeof corsPolicy>;
