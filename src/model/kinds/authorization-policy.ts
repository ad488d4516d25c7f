/** AuthorizationPolicy: who may do what. */
import { defineKind } from "./kind.ts";
import { array, enumOf, type Infer, object, string } from "./schema.ts";
import { policyTargetReference, workloadSelector } from "./selector.ts";
import { istioStatus } from "./status.ts";

const authorizationSource = object(
  {
    principals: array(string()),
    notPrincipals: array(string()),
    requestPrincipals: array(string()),
    notRequestPrincipals: array(string()),
    namespaces: array(string()),
    notNamespaces: array(string()),
    serviceAccounts: array(string({ maxLength: 320 }), { maxItems: 16 }),
    notServiceAccounts: array(string({ maxLength: 320 }), { maxItems: 16 }),
    ipBlocks: array(string()),
    notIpBlocks: array(string()),
    remoteIpBlocks: array(string()),
    notRemoteIpBlocks: array(string()),
    trustDomains: array(string()),
    notTrustDomains: array(string()),
  },
  {
    proto: "istio.security.v1beta1.Source",
    rules: [
      {
        message: "Cannot set serviceAccounts with namespaces or principals",
        rule: "(has(self.serviceAccounts) || has(self.notServiceAccounts)) ? (!has(self.principals) &&\n!has(self.notPrincipals) && !has(self.namespaces) && !has(self.notNamespaces)) : true",
      },
    ],
  },
);
export type AuthorizationSource = Infer<typeof authorizationSource>;

const authorizationRuleFrom = object({ source: authorizationSource }, { proto: "istio.security.v1beta1.Rule.From" });
export type AuthorizationRuleFrom = Infer<typeof authorizationRuleFrom>;

const authorizationOperation = object(
  {
    hosts: array(string()),
    notHosts: array(string()),
    ports: array(string()),
    notPorts: array(string()),
    methods: array(string()),
    notMethods: array(string()),
    paths: array(string()),
    notPaths: array(string()),
  },
  { proto: "istio.security.v1beta1.Operation" },
);
export type AuthorizationOperation = Infer<typeof authorizationOperation>;

const authorizationRuleTo = object({ operation: authorizationOperation }, { proto: "istio.security.v1beta1.Rule.To" });
export type AuthorizationRuleTo = Infer<typeof authorizationRuleTo>;

const authorizationCondition = object(
  { key: string(), values: array(string()), notValues: array(string()) },
  { proto: "istio.security.v1beta1.Condition", required: ["key"] },
);
export type AuthorizationCondition = Infer<typeof authorizationCondition>;

const authorizationRule = object(
  {
    from: array(authorizationRuleFrom, { maxItems: 512 }),
    to: array(authorizationRuleTo),
    when: array(authorizationCondition),
  },
  { proto: "istio.security.v1beta1.Rule" },
);
export type AuthorizationRule = Infer<typeof authorizationRule>;

const authorizationPolicyExtensionProvider = object(
  { name: string() },
  { proto: "istio.security.v1beta1.AuthorizationPolicy.ExtensionProvider" },
);
export type AuthorizationPolicyExtensionProvider = Infer<typeof authorizationPolicyExtensionProvider>;

const authorizationPolicySpec = object(
  {
    selector: workloadSelector,
    targetRef: policyTargetReference,
    targetRefs: array(policyTargetReference, { maxItems: 16 }),
    rules: array(authorizationRule, { maxItems: 512 }),
    action: enumOf(["ALLOW", "DENY", "AUDIT", "CUSTOM"], {
      proto: "istio.security.v1beta1.AuthorizationPolicy.Action",
    }),
    provider: authorizationPolicyExtensionProvider,
  },
  {
    proto: "istio.security.v1beta1.AuthorizationPolicy",
    oneOf: [["provider"]],
    rules: [
      {
        message: "only one of targetRefs or selector can be set",
        rule: "(has(self.selector) ? 1 : 0) + (has(self.targetRef) ? 1 : 0) + (has(self.targetRefs) ? 1 : 0) <= 1",
      },
    ],
  },
);
export type AuthorizationPolicySpec = Infer<typeof authorizationPolicySpec>;

export const authorizationPolicy = defineKind({
  group: "security.istio.io",
  versions: [
    { name: "v1", served: true, storage: true },
    { name: "v1beta1", served: true, storage: false },
  ],
  kind: "AuthorizationPolicy",
  plural: "authorizationpolicies",
  shortNames: ["ap"],
  categories: ["istio-io", "security-istio-io"],
  scope: "Namespaced",
  printerColumns: [
    { name: "Action", type: "string", jsonPath: ".spec.action" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
  ],
  spec: authorizationPolicySpec,
  status: istioStatus,
  crdLabels: { app: "istio-pilot", chart: "istio", heritage: "Tiller", istio: "security", release: "istio" },
  encoding: "protobuf",
});
