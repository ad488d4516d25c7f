/** TLSRoute: connections by SNI to backends. */
import { array, enumOf, type Infer, type ObjectNode, object } from "../schema.ts";
import { defineGatewayApiKind } from "./kind.ts";
import { gatewayApiManyRules, gatewayApiParentRefs, gatewayApiRouteStatus, gatewayApiRule } from "./shared.ts";
import { hostname } from "./words.ts";

const tlsRouteSpec = object(
  {
    hostnames: array(hostname(), {
      rules: [
        { message: "Hostnames cannot contain an IP", rule: "self.all(h, !isIP(h))" },
        {
          message: "Hostnames must be valid based on RFC-1123",
          rule: "self.all(h, !h.contains('*') ? h.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)$') : true)",
        },
        {
          message:
            "Wildcards on hostnames must be the first label, and the rest of hostname must be valid based on RFC-1123",
          rule: "self.all(h, h.contains('*') ? (h.startsWith('*.') && h.substring(2).matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)$')) : true)",
        },
      ],
      minItems: 1,
      maxItems: 1024,
      listType: "atomic",
    }),
    parentRefs: gatewayApiParentRefs,
    rules: array(gatewayApiRule, { minItems: 1, maxItems: 1, listType: "atomic" }),
    useDefaultGateways: enumOf(["All", "None"]),
  },
  { required: ["hostnames", "rules"] },
);
export type TLSRouteSpec = Infer<typeof tlsRouteSpec>;

/** Before v1 a route could have several rules, and no host. */
const tlsRouteAlphaSpec: ObjectNode = {
  ...tlsRouteSpec,
  fields: {
    ...tlsRouteSpec.fields,
    hostnames: array(hostname(), { maxItems: 1024, listType: "atomic" }),
    rules: gatewayApiManyRules,
  },
  required: ["rules"],
};

export type TLSRouteStatus = Infer<typeof gatewayApiRouteStatus>;

export const tlsRoute = defineGatewayApiKind({
  versions: [
    { name: "v1", served: true, storage: true },
    {
      name: "v1alpha2",
      served: true,
      storage: false,
      spec: tlsRouteAlphaSpec,
      deprecationWarning:
        "The v1alpha2 version of TLSRoute has been deprecated and will be removed in a future release of the API. Please upgrade to v1.",
    },
    {
      name: "v1alpha3",
      served: true,
      storage: false,
      deprecationWarning:
        "The v1alpha3 version of TLSRoute has been deprecated and will be removed in a future release of the API. Please upgrade to v1.",
    },
  ],
  kind: "TLSRoute",
  plural: "tlsroutes",
  shortNames: [],
  scope: "Namespaced",
  printerColumns: [{ name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" }],
  spec: tlsRouteSpec,
  status: gatewayApiRouteStatus,
});
