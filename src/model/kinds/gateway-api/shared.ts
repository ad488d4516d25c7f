/** Parts that several kinds of the Gateway API have in common. */
import { array, enumOf, type Infer, int32, int64, map, object, type Schema, string } from "../schema.ts";
import { ruleNamesOnce } from "./route-rules.ts";
import { controllerName, groupName, headerName, hostname, kindName, label, portNumber, subdomain } from "./words.ts";

export const gatewayApiParametersRef = object(
  {
    group: groupName(),
    kind: kindName(),
    name: string({ minLength: 1, maxLength: 253 }),
    namespace: label(),
  },
  { required: ["group", "kind", "name"] },
);
export type GatewayApiParametersRef = Infer<typeof gatewayApiParametersRef>;

const gatewayApiCondition = object(
  {
    lastTransitionTime: string({ format: "date-time" }),
    message: string({ maxLength: 32768 }),
    observedGeneration: int64({ minimum: 0 }),
    reason: string({ pattern: "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$", minLength: 1, maxLength: 1024 }),
    status: enumOf(["True", "False", "Unknown"]),
    type: string({
      pattern:
        "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
      maxLength: 316,
    }),
  },
  { required: ["lastTransitionTime", "message", "reason", "status", "type"] },
);
export type GatewayApiCondition = Infer<typeof gatewayApiCondition>;

export const gatewayApiConditions = (options: Parameters<typeof array>[1] = {}) =>
  array(gatewayApiCondition, { ...options, maxItems: 8, listType: "map", listMapKeys: ["type"] });

const gatewayApiMatchExpression = object(
  { key: string(), operator: string(), values: array(string(), { listType: "atomic" }) },
  { required: ["key", "operator"] },
);
export type GatewayApiMatchExpression = Infer<typeof gatewayApiMatchExpression>;

export const gatewayApiSelector = object(
  { matchExpressions: array(gatewayApiMatchExpression, { listType: "atomic" }), matchLabels: map(string()) },
  { mapType: "atomic" },
);
export type GatewayApiSelector = Infer<typeof gatewayApiSelector>;

export const gatewayApiInfrastructureParametersRef = object(
  {
    group: groupName(),
    kind: kindName(),
    name: string({ minLength: 1, maxLength: 253 }),
  },
  { required: ["group", "kind", "name"] },
);
export type GatewayApiInfrastructureParametersRef = Infer<typeof gatewayApiInfrastructureParametersRef>;

const gatewayApiKind = object(
  {
    group: groupName("gateway.networking.k8s.io"),
    kind: kindName(),
  },
  { required: ["kind"] },
);
export type GatewayApiKind = Infer<typeof gatewayApiKind>;

const gatewayApiNamespaces = object(
  { from: enumOf(["All", "Selector", "Same"], { default: "Same" }), selector: gatewayApiSelector },
  { default: { from: "Same" } },
);
export type GatewayApiNamespaces = Infer<typeof gatewayApiNamespaces>;

const gatewayApiAllowedRoutes = object(
  { kinds: array(gatewayApiKind, { maxItems: 8, listType: "atomic" }), namespaces: gatewayApiNamespaces },
  { default: { namespaces: { from: "Same" } } },
);
export type GatewayApiAllowedRoutes = Infer<typeof gatewayApiAllowedRoutes>;

export const gatewayApiCertificateRef = object(
  {
    group: groupName(""),
    kind: kindName("Secret"),
    name: string({ minLength: 1, maxLength: 253 }),
    namespace: label(),
  },
  { required: ["name"] },
);
export type GatewayApiCertificateRef = Infer<typeof gatewayApiCertificateRef>;

const gatewayApiTls = object(
  {
    certificateRefs: array(gatewayApiCertificateRef, { maxItems: 64, listType: "atomic" }),
    mode: enumOf(["Terminate", "Passthrough"], { default: "Terminate" }),
    options: map(string({ minLength: 0, maxLength: 4096 }), { maxProperties: 16 }),
  },
  {
    rules: [
      {
        message: "certificateRefs or options must be specified when mode is Terminate",
        rule: "self.mode == 'Terminate' ? size(self.certificateRefs) > 0 || size(self.options) > 0 : true",
      },
    ],
  },
);
export type GatewayApiTls = Infer<typeof gatewayApiTls>;

const gatewayApiListener = object(
  {
    allowedRoutes: gatewayApiAllowedRoutes,
    hostname: hostname(),
    name: subdomain(),
    port: portNumber(),
    protocol: string({
      pattern:
        "^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?$|[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\\/[A-Za-z0-9]+$",
      minLength: 1,
      maxLength: 255,
    }),
    tls: gatewayApiTls,
  },
  { required: ["name", "port", "protocol"] },
);
export type GatewayApiListener = Infer<typeof gatewayApiListener>;

export const gatewayApiStatusListener = object(
  {
    attachedRoutes: int32(),
    conditions: gatewayApiConditions(),
    name: subdomain(),
    supportedKinds: array(gatewayApiKind, { maxItems: 8, listType: "atomic" }),
  },
  { required: ["attachedRoutes", "conditions", "name"] },
);
export type GatewayApiStatusListener = Infer<typeof gatewayApiStatusListener>;

export const gatewayApiParentRef = object(
  {
    group: groupName("gateway.networking.k8s.io"),
    kind: kindName("Gateway"),
    name: string({ minLength: 1, maxLength: 253 }),
    namespace: label(),
    port: portNumber(),
    sectionName: subdomain(),
  },
  { required: ["name"] },
);
export type GatewayApiParentRef = Infer<typeof gatewayApiParentRef>;

export const gatewayApiParentRefs = array(gatewayApiParentRef, {
  rules: [
    {
      message: "sectionName or port must be specified when parentRefs includes 2 or more references to the same parent",
      rule: "self.all(p1, self.all(p2, p1.group == p2.group && p1.kind == p2.kind && p1.name == p2.name && (((!has(p1.__namespace__) || p1.__namespace__ == '') && (!has(p2.__namespace__) || p2.__namespace__ == '')) || (has(p1.__namespace__) && has(p2.__namespace__) && p1.__namespace__ == p2.__namespace__)) ? ((!has(p1.sectionName) || p1.sectionName == '') == (!has(p2.sectionName) || p2.sectionName == '') && (!has(p1.port) || p1.port == 0) == (!has(p2.port) || p2.port == 0)): true))",
    },
    {
      message: "sectionName or port must be unique when parentRefs includes 2 or more references to the same parent",
      rule: "self.all(p1, self.exists_one(p2, p1.group == p2.group && p1.kind == p2.kind && p1.name == p2.name && (((!has(p1.__namespace__) || p1.__namespace__ == '') && (!has(p2.__namespace__) || p2.__namespace__ == '')) || (has(p1.__namespace__) && has(p2.__namespace__) && p1.__namespace__ == p2.__namespace__ )) && (((!has(p1.sectionName) || p1.sectionName == '') && (!has(p2.sectionName) || p2.sectionName == '')) || ( has(p1.sectionName) && has(p2.sectionName) && p1.sectionName == p2.sectionName)) && (((!has(p1.port) || p1.port == 0) && (!has(p2.port) || p2.port == 0)) || (has(p1.port) && has(p2.port) && p1.port == p2.port))))",
    },
  ],
  maxItems: 32,
  listType: "atomic",
});

const backendRefFields = {
  group: groupName(""),
  kind: kindName("Service"),
  name: string({ minLength: 1, maxLength: 253 }),
  namespace: label(),
  port: portNumber(),
};

const backendRefRules = {
  rules: [
    {
      message: "Must have port for Service reference",
      rule: "(size(self.group) == 0 && self.kind == 'Service') ? has(self.port) : true",
    },
  ],
  required: ["name"],
};

export const gatewayApiBackendRef = object(backendRefFields, backendRefRules);
export type GatewayApiBackendRef = Infer<typeof gatewayApiBackendRef>;

const gatewayApiAdd = object(
  {
    name: headerName(),
    value: string({ pattern: "^[!-~]+([\\t ]?[!-~]+)*$", minLength: 1, maxLength: 4096 }),
  },
  { required: ["name", "value"] },
);
export type GatewayApiAdd = Infer<typeof gatewayApiAdd>;

export const gatewayApiRequestHeaderModifier = object({
  add: array(gatewayApiAdd, { maxItems: 16, listType: "map", listMapKeys: ["name"] }),
  remove: array(string(), { maxItems: 16, listType: "set" }),
  set: array(gatewayApiAdd, { maxItems: 16, listType: "map", listMapKeys: ["name"] }),
});
export type GatewayApiRequestHeaderModifier = Infer<typeof gatewayApiRequestHeaderModifier>;

const gatewayApiFraction = object(
  { denominator: int32({ default: 100, minimum: 1 }), numerator: int32({ minimum: 0 }) },
  {
    rules: [
      { message: "numerator must be less than or equal to denominator", rule: "self.numerator <= self.denominator" },
    ],
    required: ["numerator"],
  },
);
export type GatewayApiFraction = Infer<typeof gatewayApiFraction>;

export const gatewayApiRequestMirror = object(
  { backendRef: gatewayApiBackendRef, fraction: gatewayApiFraction, percent: int32({ minimum: 0, maximum: 100 }) },
  {
    rules: [
      {
        message: "Only one of percent or fraction may be specified in HTTPRequestMirrorFilter",
        rule: "!(has(self.percent) && has(self.fraction))",
      },
    ],
    required: ["backendRef"],
  },
);
export type GatewayApiRequestMirror = Infer<typeof gatewayApiRequestMirror>;

const gatewayApiCookieConfig = object({
  lifetimeType: enumOf(["Permanent", "Session"], { default: "Session" }),
});
export type GatewayApiCookieConfig = Infer<typeof gatewayApiCookieConfig>;

export const gatewayApiSessionPersistence = object(
  {
    absoluteTimeout: string({ pattern: "^([0-9]{1,5}(h|m|s|ms)){1,4}$" }),
    cookieConfig: gatewayApiCookieConfig,
    sessionName: string({ maxLength: 128 }),
    type: enumOf(["Cookie", "Header"], { default: "Cookie" }),
  },
  {
    rules: [
      {
        message: "AbsoluteTimeout must be specified when cookie lifetimeType is Permanent",
        rule: "!has(self.cookieConfig) || !has(self.cookieConfig.lifetimeType) || self.cookieConfig.lifetimeType != 'Permanent' || has(self.absoluteTimeout)",
      },
      {
        message: "cookieConfig can only be set with type Cookie",
        rule: "!has(self.cookieConfig) || self.type == 'Cookie'",
      },
    ],
  },
);
export type GatewayApiSessionPersistence = Infer<typeof gatewayApiSessionPersistence>;

const gatewayApiParent = object(
  {
    conditions: gatewayApiConditions({ minItems: 1 }),
    controllerName: controllerName(),
    parentRef: gatewayApiParentRef,
  },
  { required: ["conditions", "controllerName", "parentRef"] },
);
export type GatewayApiParent = Infer<typeof gatewayApiParent>;

export const gatewayApiRouteStatus = object(
  { parents: array(gatewayApiParent, { maxItems: 32, listType: "atomic" }) },
  { required: ["parents"] },
);

/** A backend among several, with what this kind of route may say of it beside. */
export const weightedBackendRef = <Beside extends Readonly<Record<string, Schema>>>(beside: Beside) =>
  object(
    { ...beside, ...backendRefFields, weight: int32({ default: 1, minimum: 0, maximum: 1000000 }) },
    backendRefRules,
  );

const gatewayApiRuleBackendRef = weightedBackendRef({});
export type GatewayApiRuleBackendRef = Infer<typeof gatewayApiRuleBackendRef>;

export const gatewayApiRule = object(
  {
    backendRefs: array(gatewayApiRuleBackendRef, { minItems: 1, maxItems: 16, listType: "atomic" }),
    name: subdomain(),
  },
  { required: ["backendRefs"] },
);
export type GatewayApiRule = Infer<typeof gatewayApiRule>;

export const gatewayApiManyRules = array(gatewayApiRule, {
  rules: [ruleNamesOnce],
  minItems: 1,
  maxItems: 16,
  listType: "atomic",
});

/** Where the port may be left out, being the only one of its kind is another rule. */
export const gatewayApiListeners = (onlyOne: string) =>
  array(gatewayApiListener, {
    rules: [
      {
        message: "tls must not be specified for protocols ['HTTP', 'TCP', 'UDP']",
        rule: "self.all(l, l.protocol in ['HTTP', 'TCP', 'UDP'] ? !has(l.tls) : true)",
      },
      {
        message: "tls mode must be Terminate for protocol HTTPS",
        rule: "self.all(l, (l.protocol == 'HTTPS' && has(l.tls)) ? (l.tls.mode == '' || l.tls.mode == 'Terminate') : true)",
      },
      {
        message: "tls mode must be set for protocol TLS",
        rule: "self.all(l, (l.protocol == 'TLS' ? has(l.tls) && has(l.tls.mode) && l.tls.mode != '' : true))",
      },
      {
        message: "hostname must not be specified for protocols ['TCP', 'UDP']",
        rule: "self.all(l, l.protocol in ['TCP', 'UDP']  ? (!has(l.hostname) || l.hostname == '') : true)",
      },
      {
        message: "Listener name must be unique within the Gateway",
        rule: "self.all(l1, self.exists_one(l2, l1.name == l2.name))",
      },
      {
        message: "Combination of port, protocol and hostname must be unique for each listener",
        rule: onlyOne,
      },
    ],
    minItems: 1,
    maxItems: 64,
    listType: "map",
    listMapKeys: ["name"],
  });
