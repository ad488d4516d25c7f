/** GRPCRoute: gRPC routing to backends. */
import { array, enumOf, type Infer, object, string } from "../schema.ts";
import { defineGatewayApiKind } from "./kind.ts";
import { fewMatches, filterHas, filterOnce, ruleNamesOnce } from "./route-rules.ts";
import {
  gatewayApiInfrastructureParametersRef,
  gatewayApiParentRefs,
  gatewayApiRequestHeaderModifier,
  gatewayApiRequestMirror,
  gatewayApiRouteStatus,
  gatewayApiSessionPersistence,
  weightedBackendRef,
} from "./shared.ts";
import { headerName, hostname, subdomain } from "./words.ts";

const grpcRouteFilter = object(
  {
    extensionRef: gatewayApiInfrastructureParametersRef,
    requestHeaderModifier: gatewayApiRequestHeaderModifier,
    requestMirror: gatewayApiRequestMirror,
    responseHeaderModifier: gatewayApiRequestHeaderModifier,
    type: enumOf(["ResponseHeaderModifier", "RequestHeaderModifier", "RequestMirror", "ExtensionRef"]),
  },
  {
    rules: [
      ...filterHas("requestHeaderModifier", "RequestHeaderModifier"),
      ...filterHas("responseHeaderModifier", "ResponseHeaderModifier"),
      ...filterHas("requestMirror", "RequestMirror"),
      ...filterHas("extensionRef", "ExtensionRef"),
    ],
    required: ["type"],
  },
);
export type GRPCRouteFilter = Infer<typeof grpcRouteFilter>;

const grpcRouteFilters = array(grpcRouteFilter, {
  rules: [filterOnce("RequestHeaderModifier"), filterOnce("ResponseHeaderModifier")],
  maxItems: 16,
  listType: "atomic",
});

const grpcRouteBackendRef = weightedBackendRef({ filters: grpcRouteFilters });
export type GRPCRouteBackendRef = Infer<typeof grpcRouteBackendRef>;

const grpcRouteHeader = object(
  {
    name: headerName(),
    type: enumOf(["Exact", "RegularExpression"], { default: "Exact" }),
    value: string({ minLength: 1, maxLength: 4096 }),
  },
  { required: ["name", "value"] },
);
export type GRPCRouteHeader = Infer<typeof grpcRouteHeader>;

const grpcRouteMethod = object(
  {
    method: string({ maxLength: 1024 }),
    service: string({ maxLength: 1024 }),
    type: enumOf(["Exact", "RegularExpression"], { default: "Exact" }),
  },
  {
    rules: [
      {
        message: "One or both of 'service' or 'method' must be specified",
        rule: "has(self.type) ? has(self.service) || has(self.method) : true",
      },
      {
        message:
          "service must only contain valid characters (matching ^(?i)\\.?[a-z_][a-z_0-9]*(\\.[a-z_][a-z_0-9]*)*$)",
        rule: '(!has(self.type) || self.type == \'Exact\') && has(self.service) ? self.service.matches(r"""^(?i)\\.?[a-z_][a-z_0-9]*(\\.[a-z_][a-z_0-9]*)*$"""): true',
      },
      {
        message: "method must only contain valid characters (matching ^[A-Za-z_][A-Za-z_0-9]*$)",
        rule: '(!has(self.type) || self.type == \'Exact\') && has(self.method) ? self.method.matches(r"""^[A-Za-z_][A-Za-z_0-9]*$"""): true',
      },
    ],
  },
);
export type GRPCRouteMethod = Infer<typeof grpcRouteMethod>;

const grpcRouteMatch = object({
  headers: array(grpcRouteHeader, { maxItems: 16, listType: "map", listMapKeys: ["name"] }),
  method: grpcRouteMethod,
});
export type GRPCRouteMatch = Infer<typeof grpcRouteMatch>;

const grpcRouteRule = object({
  backendRefs: array(grpcRouteBackendRef, { maxItems: 16, listType: "atomic" }),
  filters: grpcRouteFilters,
  matches: array(grpcRouteMatch, { maxItems: 64, listType: "atomic" }),
  name: subdomain(),
  sessionPersistence: gatewayApiSessionPersistence,
});
export type GRPCRouteRule = Infer<typeof grpcRouteRule>;

const grpcRouteSpec = object({
  hostnames: array(hostname(), { maxItems: 16, listType: "atomic" }),
  parentRefs: gatewayApiParentRefs,
  rules: array(grpcRouteRule, {
    rules: [fewMatches((rule) => `(has(${rule}.matches) ? ${rule}.matches.size() : 0)`), ruleNamesOnce],
    maxItems: 16,
    listType: "atomic",
  }),
  useDefaultGateways: enumOf(["All", "None"]),
});
export type GRPCRouteSpec = Infer<typeof grpcRouteSpec>;

export type GRPCRouteStatus = Infer<typeof gatewayApiRouteStatus>;

export const grpcRoute = defineGatewayApiKind({
  versions: [{ name: "v1", served: true, storage: true }],
  kind: "GRPCRoute",
  plural: "grpcroutes",
  shortNames: [],
  scope: "Namespaced",
  printerColumns: [
    { name: "Hostnames", type: "string", jsonPath: ".spec.hostnames" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
  ],
  spec: grpcRouteSpec,
  status: gatewayApiRouteStatus,
});
