/** GRPCRoute: gRPC routing to backends. */
import { array, enumOf, type Infer, object, string } from "../schema.ts";
import { defineGatewayApiKind } from "./kind.ts";
import {
  gatewayApiInfrastructureParametersRef,
  gatewayApiParent,
  gatewayApiParentRefs,
  gatewayApiRequestHeaderModifier,
  gatewayApiRequestMirror,
  gatewayApiSessionPersistence,
  weightedBackendRef,
} from "./shared.ts";
import { subdomain } from "./words.ts";

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
      {
        message: "filter.requestHeaderModifier must be nil if the filter.type is not RequestHeaderModifier",
        rule: "!(has(self.requestHeaderModifier) && self.type != 'RequestHeaderModifier')",
      },
      {
        message: "filter.requestHeaderModifier must be specified for RequestHeaderModifier filter.type",
        rule: "!(!has(self.requestHeaderModifier) && self.type == 'RequestHeaderModifier')",
      },
      {
        message: "filter.responseHeaderModifier must be nil if the filter.type is not ResponseHeaderModifier",
        rule: "!(has(self.responseHeaderModifier) && self.type != 'ResponseHeaderModifier')",
      },
      {
        message: "filter.responseHeaderModifier must be specified for ResponseHeaderModifier filter.type",
        rule: "!(!has(self.responseHeaderModifier) && self.type == 'ResponseHeaderModifier')",
      },
      {
        message: "filter.requestMirror must be nil if the filter.type is not RequestMirror",
        rule: "!(has(self.requestMirror) && self.type != 'RequestMirror')",
      },
      {
        message: "filter.requestMirror must be specified for RequestMirror filter.type",
        rule: "!(!has(self.requestMirror) && self.type == 'RequestMirror')",
      },
      {
        message: "filter.extensionRef must be nil if the filter.type is not ExtensionRef",
        rule: "!(has(self.extensionRef) && self.type != 'ExtensionRef')",
      },
      {
        message: "filter.extensionRef must be specified for ExtensionRef filter.type",
        rule: "!(!has(self.extensionRef) && self.type == 'ExtensionRef')",
      },
    ],
    required: ["type"],
  },
);
export type GRPCRouteFilter = Infer<typeof grpcRouteFilter>;

const grpcRouteFilters = array(grpcRouteFilter, {
  rules: [
    {
      message: "RequestHeaderModifier filter cannot be repeated",
      rule: "self.filter(f, f.type == 'RequestHeaderModifier').size() <= 1",
    },
    {
      message: "ResponseHeaderModifier filter cannot be repeated",
      rule: "self.filter(f, f.type == 'ResponseHeaderModifier').size() <= 1",
    },
  ],
  maxItems: 16,
  listType: "atomic",
});

const grpcRouteBackendRef = weightedBackendRef({ filters: grpcRouteFilters });
export type GRPCRouteBackendRef = Infer<typeof grpcRouteBackendRef>;

const grpcRouteHeader = object(
  {
    name: string({ pattern: "^[A-Za-z0-9!#$%&'*+\\-.^_\\x60|~]+$", minLength: 1, maxLength: 256 }),
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
  hostnames: array(
    string({
      pattern: "^(\\*\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
      minLength: 1,
      maxLength: 253,
    }),
    { maxItems: 16, listType: "atomic" },
  ),
  parentRefs: gatewayApiParentRefs,
  rules: array(grpcRouteRule, {
    rules: [
      {
        message:
          "While 16 rules and 64 matches per rule are allowed, the total number of matches across all rules in a route must be less than 128",
        rule: "(self.size() > 0 ? (has(self[0].matches) ? self[0].matches.size() : 0) : 0) + (self.size() > 1 ? (has(self[1].matches) ? self[1].matches.size() : 0) : 0) + (self.size() > 2 ? (has(self[2].matches) ? self[2].matches.size() : 0) : 0) + (self.size() > 3 ? (has(self[3].matches) ? self[3].matches.size() : 0) : 0) + (self.size() > 4 ? (has(self[4].matches) ? self[4].matches.size() : 0) : 0) + (self.size() > 5 ? (has(self[5].matches) ? self[5].matches.size() : 0) : 0) + (self.size() > 6 ? (has(self[6].matches) ? self[6].matches.size() : 0) : 0) + (self.size() > 7 ? (has(self[7].matches) ? self[7].matches.size() : 0) : 0) + (self.size() > 8 ? (has(self[8].matches) ? self[8].matches.size() : 0) : 0) + (self.size() > 9 ? (has(self[9].matches) ? self[9].matches.size() : 0) : 0) + (self.size() > 10 ? (has(self[10].matches) ? self[10].matches.size() : 0) : 0) + (self.size() > 11 ? (has(self[11].matches) ? self[11].matches.size() : 0) : 0) + (self.size() > 12 ? (has(self[12].matches) ? self[12].matches.size() : 0) : 0) + (self.size() > 13 ? (has(self[13].matches) ? self[13].matches.size() : 0) : 0) + (self.size() > 14 ? (has(self[14].matches) ? self[14].matches.size() : 0) : 0) + (self.size() > 15 ? (has(self[15].matches) ? self[15].matches.size() : 0) : 0) <= 128",
      },
      {
        message: "Rule name must be unique within the route",
        rule: "self.all(l1, !has(l1.name) || self.exists_one(l2, has(l2.name) && l1.name == l2.name))",
      },
    ],
    maxItems: 16,
    listType: "atomic",
  }),
  useDefaultGateways: enumOf(["All", "None"]),
});
export type GRPCRouteSpec = Infer<typeof grpcRouteSpec>;

const grpcRouteStatus = object(
  { parents: array(gatewayApiParent, { maxItems: 32, listType: "atomic" }) },
  { required: ["parents"] },
);
export type GRPCRouteStatus = Infer<typeof grpcRouteStatus>;

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
  status: grpcRouteStatus,
});
