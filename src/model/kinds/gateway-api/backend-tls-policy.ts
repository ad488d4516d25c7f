/** BackendTLSPolicy: how TLS to a backend is checked. */
import { array, enumOf, type Infer, map, object, string } from "../schema.ts";
import { defineGatewayApiKind } from "./kind.ts";
import { gatewayApiConditions, gatewayApiInfrastructureParametersRef, gatewayApiParentRef } from "./shared.ts";
import { controllerName, groupName, hostname, kindName, subdomain } from "./words.ts";

const backendTLSPolicyTargetRef = object(
  {
    group: groupName(),
    kind: kindName(),
    name: string({ minLength: 1, maxLength: 253 }),
    sectionName: subdomain(),
  },
  { required: ["group", "kind", "name"] },
);
export type BackendTLSPolicyTargetRef = Infer<typeof backendTLSPolicyTargetRef>;

const backendTLSPolicySubjectAltName = object(
  {
    hostname: hostname(),
    type: enumOf(["Hostname", "URI"]),
    uri: string({ pattern: "^(([^:/?#]+):)(//([^/?#]*))([^?#]*)(\\?([^#]*))?(#(.*))?", minLength: 1, maxLength: 253 }),
  },
  {
    rules: [
      {
        message: "SubjectAltName element must contain Hostname, if Type is set to Hostname",
        rule: '!(self.type == "Hostname" && (!has(self.hostname) || self.hostname == ""))',
      },
      {
        message: "SubjectAltName element must not contain Hostname, if Type is not set to Hostname",
        rule: '!(self.type != "Hostname" && has(self.hostname) && self.hostname != "")',
      },
      {
        message: "SubjectAltName element must contain URI, if Type is set to URI",
        rule: '!(self.type == "URI" && (!has(self.uri) || self.uri == ""))',
      },
      {
        message: "SubjectAltName element must not contain URI, if Type is not set to URI",
        rule: '!(self.type != "URI" && has(self.uri) && self.uri != "")',
      },
    ],
    required: ["type"],
  },
);
export type BackendTLSPolicySubjectAltName = Infer<typeof backendTLSPolicySubjectAltName>;

const backendTLSPolicyValidation = object(
  {
    caCertificateRefs: array(gatewayApiInfrastructureParametersRef, { maxItems: 8, listType: "atomic" }),
    hostname: subdomain(),
    subjectAltNames: array(backendTLSPolicySubjectAltName, { maxItems: 5, listType: "atomic" }),
    wellKnownCACertificates: string({
      pattern:
        "^(System|([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]))$",
      minLength: 1,
      maxLength: 253,
    }),
  },
  {
    rules: [
      {
        message: "must not contain both CACertificateRefs and WellKnownCACertificates",
        rule: '!(has(self.caCertificateRefs) && size(self.caCertificateRefs) > 0 && has(self.wellKnownCACertificates) && self.wellKnownCACertificates != "")',
      },
      {
        message: "must specify either CACertificateRefs or WellKnownCACertificates",
        rule: '(has(self.caCertificateRefs) && size(self.caCertificateRefs) > 0 || has(self.wellKnownCACertificates) && self.wellKnownCACertificates != "")',
      },
    ],
    required: ["hostname"],
  },
);
export type BackendTLSPolicyValidation = Infer<typeof backendTLSPolicyValidation>;

const backendTLSPolicySpec = object(
  {
    options: map(string({ minLength: 0, maxLength: 4096 }), { maxProperties: 16 }),
    targetRefs: array(backendTLSPolicyTargetRef, {
      rules: [
        {
          message: "sectionName must be specified when targetRefs includes 2 or more references to the same target",
          rule: "self.all(p1, self.all(p2, p1.group == p2.group && p1.kind == p2.kind && p1.name == p2.name ? ((!has(p1.sectionName) || p1.sectionName == '') == (!has(p2.sectionName) || p2.sectionName == '')) : true))",
        },
        {
          message: "sectionName must be unique when targetRefs includes 2 or more references to the same target",
          rule: "self.all(p1, self.exists_one(p2, p1.group == p2.group && p1.kind == p2.kind && p1.name == p2.name && (((!has(p1.sectionName) || p1.sectionName == '') && (!has(p2.sectionName) || p2.sectionName == '')) || (has(p1.sectionName) && has(p2.sectionName) && p1.sectionName == p2.sectionName))))",
        },
      ],
      minItems: 1,
      maxItems: 16,
      listType: "atomic",
    }),
    validation: backendTLSPolicyValidation,
  },
  { required: ["targetRefs", "validation"] },
);
export type BackendTLSPolicySpec = Infer<typeof backendTLSPolicySpec>;

const backendTLSPolicyAncestor = object(
  {
    ancestorRef: gatewayApiParentRef,
    conditions: gatewayApiConditions({ minItems: 1 }),
    controllerName: controllerName(),
  },
  { required: ["ancestorRef", "conditions", "controllerName"] },
);
export type BackendTLSPolicyAncestor = Infer<typeof backendTLSPolicyAncestor>;

const backendTLSPolicyStatus = object(
  { ancestors: array(backendTLSPolicyAncestor, { maxItems: 16, listType: "atomic" }) },
  { required: ["ancestors"] },
);
export type BackendTLSPolicyStatus = Infer<typeof backendTLSPolicyStatus>;

export const backendTlsPolicy = defineGatewayApiKind({
  versions: [
    { name: "v1", served: true, storage: true },
    {
      name: "v1alpha3",
      served: true,
      storage: false,
      deprecationWarning:
        "The v1alpha3 version of BackendTLSPolicy has been deprecated and will be removed in a future release of the API. Please upgrade to v1.",
    },
  ],
  kind: "BackendTLSPolicy",
  plural: "backendtlspolicies",
  shortNames: ["btlspolicy"],
  scope: "Namespaced",
  printerColumns: [{ name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" }],
  spec: backendTLSPolicySpec,
  status: backendTLSPolicyStatus,
  crdLabels: { "gateway.networking.k8s.io/policy": "Direct" },
});
