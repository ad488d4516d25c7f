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
  { proto: "istio.networking.v1alpha3.StringMatch", oneOf: [["exact", "prefix", "regex"]] },
);
export type StringMatch = Infer<typeof stringMatch>;

const headerOperations = object(
  { set: map(string()), add: map(string()), remove: array(string()) },
  { proto: "istio.networking.v1alpha3.Headers.HeaderOperations" },
);
export type HeaderOperations = Infer<typeof headerOperations>;

export const routeHeaders = object(
  { request: headerOperations, response: headerOperations },
  { proto: "istio.networking.v1alpha3.Headers" },
);
export type RouteHeaders = Infer<typeof routeHeaders>;

export const httpRedirect = object(
  {
    uri: string(),
    authority: string(),
    port: uint32(),
    derivePort: enumOf(["FROM_PROTOCOL_DEFAULT", "FROM_REQUEST_PORT"], {
      proto: "istio.networking.v1alpha3.HTTPRedirect.RedirectPortSelection",
    }),
    scheme: string(),
    redirectCode: uint32(),
    prefixRewrite: string(),
  },
  { proto: "istio.networking.v1alpha3.HTTPRedirect", oneOf: [["port", "derivePort"]] },
);
export type HTTPRedirect = Infer<typeof httpRedirect>;

const httpBody = object(
  { string: string(), bytes: bytes() },
  { proto: "istio.networking.v1alpha3.HTTPBody", oneOf: [["string", "bytes"]] },
);
export type HTTPBody = Infer<typeof httpBody>;

export const httpDirectResponse = object(
  { status: uint32(), body: httpBody },
  { proto: "istio.networking.v1alpha3.HTTPDirectResponse", required: ["status"] },
);
export type HTTPDirectResponse = Infer<typeof httpDirectResponse>;

const regexRewrite = object(
  { match: string(), rewrite: string() },
  { proto: "istio.networking.v1alpha3.RegexRewrite" },
);
export type RegexRewrite = Infer<typeof regexRewrite>;

export const httpRewrite = object(
  { uri: string(), authority: string(), uriRegexRewrite: regexRewrite },
  { proto: "istio.networking.v1alpha3.HTTPRewrite" },
);
export type HTTPRewrite = Infer<typeof httpRewrite>;

export const httpRetry = object(
  {
    attempts: int32(),
    perTryTimeout: duration(),
    retryOn: string(),
    retryRemoteLocalities: boolean({ nullable: true }),
    retryIgnorePreviousHosts: boolean({ nullable: true }),
    backoff: duration(),
  },
  { proto: "istio.networking.v1alpha3.HTTPRetry" },
);
export type HTTPRetry = Infer<typeof httpRetry>;

export const percent = object({ value: double() }, { proto: "istio.networking.v1alpha3.Percent" });
export type Percent = Infer<typeof percent>;

const httpFaultInjectionDelay = object(
  { percent: int32(), fixedDelay: duration(), exponentialDelay: duration(), percentage: percent },
  { proto: "istio.networking.v1alpha3.HTTPFaultInjection.Delay", oneOf: [["fixedDelay", "exponentialDelay"]] },
);
export type HTTPFaultInjectionDelay = Infer<typeof httpFaultInjectionDelay>;

const httpFaultInjectionAbort = object(
  { httpStatus: int32(), grpcStatus: string(), http2Error: string(), percentage: percent },
  { proto: "istio.networking.v1alpha3.HTTPFaultInjection.Abort", oneOf: [["httpStatus", "grpcStatus", "http2Error"]] },
);
export type HTTPFaultInjectionAbort = Infer<typeof httpFaultInjectionAbort>;

export const httpFaultInjection = object(
  { delay: httpFaultInjectionDelay, abort: httpFaultInjectionAbort },
  { proto: "istio.networking.v1alpha3.HTTPFaultInjection" },
);
export type HTTPFaultInjection = Infer<typeof httpFaultInjection>;

export const corsPolicy = object(
  {
    allowOrigin: array(string()),
    allowOrigins: array(stringMatch),
    allowMethods: array(string()),
    allowHeaders: array(string()),
    exposeHeaders: array(string()),
    maxAge: duration(),
    allowCredentials: boolean({ nullable: true }),
    unmatchedPreflights: enumOf(["UNSPECIFIED", "FORWARD", "IGNORE"], {
      proto: "istio.networking.v1alpha3.CorsPolicy.UnmatchedPreflights",
    }),
  },
  { proto: "istio.networking.v1alpha3.CorsPolicy" },
);
export type CorsPolicy = Infer<typeof corsPolicy>;
