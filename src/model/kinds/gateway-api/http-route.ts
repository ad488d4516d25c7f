/** HTTPRoute: HTTP routing to backends. */
import { array, boolean, enumOf, type Infer, int32, integer, object, string } from "../schema.ts";
import { defineGatewayApiKind } from "./kind.ts";
import { fewMatches, filterHas, filterOnce, ruleNamesOnce } from "./route-rules.ts";
import {
  gatewayApiBackendRef,
  gatewayApiInfrastructureParametersRef,
  gatewayApiParentRefs,
  gatewayApiRequestHeaderModifier,
  gatewayApiRequestMirror,
  gatewayApiRouteStatus,
  gatewayApiSessionPersistence,
  weightedBackendRef,
} from "./shared.ts";
import { headerName, hostname, portNumber, subdomain } from "./words.ts";

const httpRouteCors = object({
  allowCredentials: boolean(),
  allowHeaders: array(headerName(), {
    rules: [
      { message: "AllowHeaders cannot contain '*' alongside other methods", rule: "!('*' in self && self.size() > 1)" },
    ],
    maxItems: 64,
    listType: "set",
  }),
  allowMethods: array(enumOf(["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "*"]), {
    rules: [
      { message: "AllowMethods cannot contain '*' alongside other methods", rule: "!('*' in self && self.size() > 1)" },
    ],
    maxItems: 9,
    listType: "set",
  }),
  allowOrigins: array(
    string({
      pattern: "(^\\*$)|(^(http(s)?):\\/\\/(((\\*\\.)?([a-zA-Z0-9\\-]+\\.)*[a-zA-Z0-9-]+|\\*)(:([0-9]{1,5}))?)$)",
      minLength: 1,
      maxLength: 253,
    }),
    {
      rules: [
        {
          message: "AllowOrigins cannot contain '*' alongside other origins",
          rule: "!('*' in self && self.size() > 1)",
        },
      ],
      maxItems: 64,
      listType: "set",
    },
  ),
  exposeHeaders: array(headerName(), {
    maxItems: 64,
    listType: "set",
  }),
  maxAge: int32({ default: 5, minimum: 1 }),
});
export type HTTPRouteCors = Infer<typeof httpRouteCors>;

const httpRouteForwardBody = object({ maxSize: integer() });
export type HTTPRouteForwardBody = Infer<typeof httpRouteForwardBody>;

const httpRouteGrpc = object({ allowedHeaders: array(string(), { maxItems: 64, listType: "set" }) });
export type HTTPRouteGrpc = Infer<typeof httpRouteGrpc>;

const httpRouteHttp = object({
  allowedHeaders: array(string(), { maxItems: 64, listType: "set" }),
  allowedResponseHeaders: array(string(), { maxItems: 64, listType: "set" }),
  path: string({ pattern: "^(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|[%][0-9a-fA-F]{2})+$", maxLength: 1024 }),
});
export type HTTPRouteHttp = Infer<typeof httpRouteHttp>;

const httpRouteExternalAuth = object(
  {
    backendRef: gatewayApiBackendRef,
    forwardBody: httpRouteForwardBody,
    grpc: httpRouteGrpc,
    http: httpRouteHttp,
    protocol: enumOf(["HTTP", "GRPC"]),
  },
  {
    rules: [
      {
        message: "grpc must be specified when protocol is set to 'GRPC'",
        rule: "self.protocol == 'GRPC' ? has(self.grpc) : true",
      },
      { message: "protocol must be 'GRPC' when grpc is set", rule: "has(self.grpc) ? self.protocol == 'GRPC' : true" },
      {
        message: "http must be specified when protocol is set to 'HTTP'",
        rule: "self.protocol == 'HTTP' ? has(self.http) : true",
      },
      { message: "protocol must be 'HTTP' when http is set", rule: "has(self.http) ? self.protocol == 'HTTP' : true" },
    ],
    required: ["backendRef", "protocol"],
  },
);
export type HTTPRouteExternalAuth = Infer<typeof httpRouteExternalAuth>;

const httpRoutePath = object(
  {
    replaceFullPath: string({ maxLength: 1024 }),
    replacePrefixMatch: string({ maxLength: 1024 }),
    type: enumOf(["ReplaceFullPath", "ReplacePrefixMatch"]),
  },
  {
    rules: [
      {
        message: "replaceFullPath must be specified when type is set to 'ReplaceFullPath'",
        rule: "self.type == 'ReplaceFullPath' ? has(self.replaceFullPath) : true",
      },
      {
        message: "type must be 'ReplaceFullPath' when replaceFullPath is set",
        rule: "has(self.replaceFullPath) ? self.type == 'ReplaceFullPath' : true",
      },
      {
        message: "replacePrefixMatch must be specified when type is set to 'ReplacePrefixMatch'",
        rule: "self.type == 'ReplacePrefixMatch' ? has(self.replacePrefixMatch) : true",
      },
      {
        message: "type must be 'ReplacePrefixMatch' when replacePrefixMatch is set",
        rule: "has(self.replacePrefixMatch) ? self.type == 'ReplacePrefixMatch' : true",
      },
    ],
    required: ["type"],
  },
);
export type HTTPRoutePath = Infer<typeof httpRoutePath>;

const httpRouteRequestRedirect = object({
  hostname: subdomain(),
  path: httpRoutePath,
  port: portNumber(),
  scheme: enumOf(["http", "https"]),
  statusCode: integer({ default: 302, allowed: [301, 302, 303, 307, 308] }),
});
export type HTTPRouteRequestRedirect = Infer<typeof httpRouteRequestRedirect>;

const httpRouteUrlRewrite = object({
  hostname: subdomain(),
  path: httpRoutePath,
});
export type HTTPRouteUrlRewrite = Infer<typeof httpRouteUrlRewrite>;

const httpRouteFilter = object(
  {
    cors: httpRouteCors,
    extensionRef: gatewayApiInfrastructureParametersRef,
    externalAuth: httpRouteExternalAuth,
    requestHeaderModifier: gatewayApiRequestHeaderModifier,
    requestMirror: gatewayApiRequestMirror,
    requestRedirect: httpRouteRequestRedirect,
    responseHeaderModifier: gatewayApiRequestHeaderModifier,
    type: enumOf([
      "RequestHeaderModifier",
      "ResponseHeaderModifier",
      "RequestMirror",
      "RequestRedirect",
      "URLRewrite",
      "ExtensionRef",
      "CORS",
      "ExternalAuth",
    ]),
    urlRewrite: httpRouteUrlRewrite,
  },
  {
    rules: [
      ...filterHas("cors", "CORS"),
      ...filterHas("requestHeaderModifier", "RequestHeaderModifier"),
      ...filterHas("responseHeaderModifier", "ResponseHeaderModifier"),
      ...filterHas("requestMirror", "RequestMirror"),
      ...filterHas("requestRedirect", "RequestRedirect"),
      ...filterHas("urlRewrite", "URLRewrite"),
      ...filterHas("extensionRef", "ExtensionRef"),
      ...filterHas("externalAuth", "ExternalAuth"),
    ],
    required: ["type"],
  },
);
export type HTTPRouteFilter = Infer<typeof httpRouteFilter>;

const httpRouteFilters = array(httpRouteFilter, {
  rules: [
    {
      message: "May specify either httpRouteFilterRequestRedirect or httpRouteFilterRequestRewrite, but not both",
      rule: "!(self.exists(f, f.type == 'RequestRedirect') && self.exists(f, f.type == 'URLRewrite'))",
    },
    filterOnce("CORS"),
    filterOnce("RequestHeaderModifier"),
    filterOnce("ResponseHeaderModifier"),
    filterOnce("RequestRedirect"),
    filterOnce("URLRewrite"),
  ],
  maxItems: 16,
  listType: "atomic",
});

const httpRouteBackendRef = weightedBackendRef({ filters: httpRouteFilters });
export type HTTPRouteBackendRef = Infer<typeof httpRouteBackendRef>;

const httpRouteHeader = object(
  {
    name: headerName(),
    type: enumOf(["Exact", "RegularExpression"], { default: "Exact" }),
    value: string({ pattern: "^[!-~]+([\\t ]?[!-~]+)*$", minLength: 1, maxLength: 4096 }),
  },
  { required: ["name", "value"] },
);
export type HTTPRouteHeader = Infer<typeof httpRouteHeader>;

const httpRouteMatchPath = object(
  {
    type: enumOf(["Exact", "PathPrefix", "RegularExpression"], { default: "PathPrefix" }),
    value: string({ default: "/", maxLength: 1024 }),
  },
  {
    default: { type: "PathPrefix", value: "/" },
    rules: [
      {
        message: "value must be an absolute path and start with '/' when type one of ['Exact', 'PathPrefix']",
        rule: "(self.type in ['Exact','PathPrefix']) ? self.value.startsWith('/') : true",
      },
      {
        message: "must not contain '//' when type one of ['Exact', 'PathPrefix']",
        rule: "(self.type in ['Exact','PathPrefix']) ? !self.value.contains('//') : true",
      },
      {
        message: "must not contain '/./' when type one of ['Exact', 'PathPrefix']",
        rule: "(self.type in ['Exact','PathPrefix']) ? !self.value.contains('/./') : true",
      },
      {
        message: "must not contain '/../' when type one of ['Exact', 'PathPrefix']",
        rule: "(self.type in ['Exact','PathPrefix']) ? !self.value.contains('/../') : true",
      },
      {
        message: "must not contain '%2f' when type one of ['Exact', 'PathPrefix']",
        rule: "(self.type in ['Exact','PathPrefix']) ? !self.value.contains('%2f') : true",
      },
      {
        message: "must not contain '%2F' when type one of ['Exact', 'PathPrefix']",
        rule: "(self.type in ['Exact','PathPrefix']) ? !self.value.contains('%2F') : true",
      },
      {
        message: "must not contain '#' when type one of ['Exact', 'PathPrefix']",
        rule: "(self.type in ['Exact','PathPrefix']) ? !self.value.contains('#') : true",
      },
      {
        message: "must not end with '/..' when type one of ['Exact', 'PathPrefix']",
        rule: "(self.type in ['Exact','PathPrefix']) ? !self.value.endsWith('/..') : true",
      },
      {
        message: "must not end with '/.' when type one of ['Exact', 'PathPrefix']",
        rule: "(self.type in ['Exact','PathPrefix']) ? !self.value.endsWith('/.') : true",
      },
      {
        message: "type must be one of ['Exact', 'PathPrefix', 'RegularExpression']",
        rule: "self.type in ['Exact','PathPrefix'] || self.type == 'RegularExpression'",
      },
      {
        message:
          "must only contain valid characters (matching ^(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|[%][0-9a-fA-F]{2})+$) for types ['Exact', 'PathPrefix']",
        rule: '(self.type in [\'Exact\',\'PathPrefix\']) ? self.value.matches(r"""^(?:[-A-Za-z0-9/._~!$&\'()*+,;=:@]|[%][0-9a-fA-F]{2})+$""") : true',
      },
    ],
  },
);
export type HTTPRouteMatchPath = Infer<typeof httpRouteMatchPath>;

const httpRouteQueryParam = object(
  {
    name: headerName(),
    type: enumOf(["Exact", "RegularExpression"], { default: "Exact" }),
    value: string({ minLength: 1, maxLength: 1024 }),
  },
  { required: ["name", "value"] },
);
export type HTTPRouteQueryParam = Infer<typeof httpRouteQueryParam>;

const httpRouteMatch = object({
  headers: array(httpRouteHeader, { maxItems: 16, listType: "map", listMapKeys: ["name"] }),
  method: enumOf(["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"]),
  path: httpRouteMatchPath,
  queryParams: array(httpRouteQueryParam, { maxItems: 16, listType: "map", listMapKeys: ["name"] }),
});
export type HTTPRouteMatch = Infer<typeof httpRouteMatch>;

const httpRouteRetry = object({
  attempts: integer({ minimum: 1 }),
  backoff: string({ pattern: "^([0-9]{1,5}(h|m|s|ms)){1,4}$" }),
  codes: array(integer({ minimum: 400, maximum: 599 }), { listType: "set" }),
});
export type HTTPRouteRetry = Infer<typeof httpRouteRetry>;

const httpRouteTimeouts = object(
  {
    backendRequest: string({ pattern: "^([0-9]{1,5}(h|m|s|ms)){1,4}$" }),
    request: string({ pattern: "^([0-9]{1,5}(h|m|s|ms)){1,4}$" }),
  },
  {
    rules: [
      {
        message: "backendRequest timeout cannot be longer than request timeout",
        rule: "!(has(self.request) && has(self.backendRequest) && duration(self.request) != duration('0s') && duration(self.backendRequest) > duration(self.request))",
      },
    ],
  },
);
export type HTTPRouteTimeouts = Infer<typeof httpRouteTimeouts>;

const httpRouteRule = object(
  {
    backendRefs: array(httpRouteBackendRef, { maxItems: 16, listType: "atomic" }),
    filters: httpRouteFilters,
    matches: array(httpRouteMatch, {
      default: [{ path: { type: "PathPrefix", value: "/" } }],
      maxItems: 64,
      listType: "atomic",
    }),
    name: subdomain(),
    retry: httpRouteRetry,
    sessionPersistence: gatewayApiSessionPersistence,
    timeouts: httpRouteTimeouts,
  },
  {
    rules: [
      {
        message: "RequestRedirect filter must not be used together with backendRefs",
        rule: "(has(self.backendRefs) && size(self.backendRefs) > 0) ? (!has(self.filters) || self.filters.all(f, !has(f.requestRedirect))): true",
      },
      {
        message:
          "When using RequestRedirect filter with path.replacePrefixMatch, exactly one PathPrefix match must be specified",
        rule: "(has(self.filters) && self.filters.exists_one(f, has(f.requestRedirect) && has(f.requestRedirect.path) && f.requestRedirect.path.type == 'ReplacePrefixMatch' && has(f.requestRedirect.path.replacePrefixMatch))) ? ((size(self.matches) != 1 || !has(self.matches[0].path) || self.matches[0].path.type != 'PathPrefix') ? false : true) : true",
      },
      {
        message:
          "When using URLRewrite filter with path.replacePrefixMatch, exactly one PathPrefix match must be specified",
        rule: "(has(self.filters) && self.filters.exists_one(f, has(f.urlRewrite) && has(f.urlRewrite.path) && f.urlRewrite.path.type == 'ReplacePrefixMatch' && has(f.urlRewrite.path.replacePrefixMatch))) ? ((size(self.matches) != 1 || !has(self.matches[0].path) || self.matches[0].path.type != 'PathPrefix') ? false : true) : true",
      },
      {
        message:
          "Within backendRefs, when using RequestRedirect filter with path.replacePrefixMatch, exactly one PathPrefix match must be specified",
        rule: "(has(self.backendRefs) && self.backendRefs.exists_one(b, (has(b.filters) && b.filters.exists_one(f, has(f.requestRedirect) && has(f.requestRedirect.path) && f.requestRedirect.path.type == 'ReplacePrefixMatch' && has(f.requestRedirect.path.replacePrefixMatch))) )) ? ((size(self.matches) != 1 || !has(self.matches[0].path) || self.matches[0].path.type != 'PathPrefix') ? false : true) : true",
      },
      {
        message:
          "Within backendRefs, When using URLRewrite filter with path.replacePrefixMatch, exactly one PathPrefix match must be specified",
        rule: "(has(self.backendRefs) && self.backendRefs.exists_one(b, (has(b.filters) && b.filters.exists_one(f, has(f.urlRewrite) && has(f.urlRewrite.path) && f.urlRewrite.path.type == 'ReplacePrefixMatch' && has(f.urlRewrite.path.replacePrefixMatch))) )) ? ((size(self.matches) != 1 || !has(self.matches[0].path) || self.matches[0].path.type != 'PathPrefix') ? false : true) : true",
      },
    ],
  },
);
export type HTTPRouteRule = Infer<typeof httpRouteRule>;

const httpRouteSpec = object({
  hostnames: array(hostname(), { maxItems: 16, listType: "atomic" }),
  parentRefs: gatewayApiParentRefs,
  rules: array(httpRouteRule, {
    default: [{ matches: [{ path: { type: "PathPrefix", value: "/" } }] }],
    rules: [fewMatches((rule) => `${rule}.matches.size()`), ruleNamesOnce],
    minItems: 1,
    maxItems: 16,
    listType: "atomic",
  }),
  useDefaultGateways: enumOf(["All", "None"]),
});
export type HTTPRouteSpec = Infer<typeof httpRouteSpec>;

export type HTTPRouteStatus = Infer<typeof gatewayApiRouteStatus>;

export const httpRoute = defineGatewayApiKind({
  versions: [
    { name: "v1", served: true, storage: true },
    { name: "v1beta1", served: true, storage: false },
  ],
  kind: "HTTPRoute",
  plural: "httproutes",
  shortNames: [],
  scope: "Namespaced",
  printerColumns: [
    { name: "Hostnames", type: "string", jsonPath: ".spec.hostnames" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
  ],
  spec: httpRouteSpec,
  status: gatewayApiRouteStatus,
});
