/** RequestAuthentication: which JWTs are accepted. */
import { defineKind } from "./kind.ts";
import { array, boolean, duration, enumOf, type Infer, object, string } from "./schema.ts";
import { policyTargetReference, workloadSelector } from "./selector.ts";
import { istioStatus } from "./status.ts";

const jwtHeader = object(
  { name: string({ minLength: 1 }), prefix: string() },
  { proto: "istio.security.v1beta1.JWTHeader", required: ["name"] },
);
export type JWTHeader = Infer<typeof jwtHeader>;

const claimToHeader = object(
  { header: string({ pattern: "^[-_A-Za-z0-9]+$", minLength: 1 }), claim: string({ minLength: 1 }) },
  { proto: "istio.security.v1beta1.ClaimToHeader", required: ["header", "claim"] },
);
export type ClaimToHeader = Infer<typeof claimToHeader>;

const jwtRule = object(
  {
    issuer: string({ minLength: 1 }),
    audiences: array(string({ minLength: 1 })),
    jwksUri: string({
      rules: [
        { message: "url must have scheme http:// or https://", rule: 'url(self).getScheme() in ["http", "https"]' },
      ],
      minLength: 1,
      maxLength: 2048,
    }),
    jwks: string(),
    fromHeaders: array(jwtHeader),
    fromParams: array(string({ minLength: 1 })),
    outputPayloadToHeader: string(),
    fromCookies: array(string({ minLength: 1 })),
    forwardOriginalToken: boolean(),
    outputClaimToHeaders: array(claimToHeader),
    timeout: duration(),
    spaceDelimitedClaims: array(string({ minLength: 1 }), { maxItems: 64 }),
    jwks_uri: string({
      rules: [
        { message: "url must have scheme http:// or https://", rule: 'url(self).getScheme() in ["http", "https"]' },
      ],
      minLength: 1,
      maxLength: 2048,
    }),
    presence: enumOf(["OPTIONAL", "REQUIRED"], { proto: "istio.security.v1beta1.JWTRule.JWTRequirement" }),
  },
  {
    proto: "istio.security.v1beta1.JWTRule",
    rules: [
      {
        message: "only one of jwks or jwksUri can be set",
        rule: "(has(self.jwksUri) ? 1 : 0) + (has(self.jwks_uri) ? 1 : 0) + (has(self.jwks) ? 1 : 0) <= 1",
      },
    ],
  },
);
export type JWTRule = Infer<typeof jwtRule>;

const requestAuthenticationSpec = object(
  {
    selector: workloadSelector,
    targetRef: policyTargetReference,
    targetRefs: array(policyTargetReference, { maxItems: 16 }),
    jwtRules: array(jwtRule, { maxItems: 4096 }),
  },
  {
    proto: "istio.security.v1beta1.RequestAuthentication",
    rules: [
      {
        message: "only one of targetRefs or selector can be set",
        rule: "(has(self.selector) ? 1 : 0) + (has(self.targetRef) ? 1 : 0) + (has(self.targetRefs) ? 1 : 0) <= 1",
      },
    ],
  },
);
export type RequestAuthenticationSpec = Infer<typeof requestAuthenticationSpec>;

export const requestAuthentication = defineKind({
  group: "security.istio.io",
  versions: [
    { name: "v1", served: true, storage: true },
    { name: "v1beta1", served: true, storage: false },
  ],
  kind: "RequestAuthentication",
  plural: "requestauthentications",
  shortNames: ["ra"],
  categories: ["istio-io", "security-istio-io"],
  scope: "Namespaced",
  printerColumns: [],
  spec: requestAuthenticationSpec,
  status: istioStatus,
  crdLabels: { app: "istio-pilot", chart: "istio", heritage: "Tiller", istio: "security", release: "istio" },
  encoding: "protobuf",
});
