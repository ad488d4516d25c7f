/** TCPRoute: connections to backends. */
import { array, enumOf, type Infer, type ObjectNode, object } from "../schema.ts";
import { defineGatewayApiKind } from "./kind.ts";
import { gatewayApiManyRules, gatewayApiParentRefs, gatewayApiRouteStatus, gatewayApiRule } from "./shared.ts";

const tcpRouteSpec = object(
  {
    parentRefs: gatewayApiParentRefs,
    rules: array(gatewayApiRule, { minItems: 1, maxItems: 1, listType: "atomic" }),
    useDefaultGateways: enumOf(["All", "None"]),
  },
  { required: ["rules"] },
);
export type TCPRouteSpec = Infer<typeof tcpRouteSpec>;

/** Before v1 a route could have several rules. */
const tcpRouteAlphaSpec: ObjectNode = {
  ...tcpRouteSpec,
  fields: { ...tcpRouteSpec.fields, rules: gatewayApiManyRules },
};

export type TCPRouteStatus = Infer<typeof gatewayApiRouteStatus>;

export const tcpRoute = defineGatewayApiKind({
  versions: [
    { name: "v1", served: true, storage: true },
    {
      name: "v1alpha2",
      served: true,
      storage: false,
      spec: tcpRouteAlphaSpec,
      deprecationWarning:
        "The v1alpha2 version of TCPRoute has been deprecated and will be removed in a future release of the API. Please upgrade to v1.",
    },
  ],
  kind: "TCPRoute",
  plural: "tcproutes",
  shortNames: [],
  scope: "Namespaced",
  printerColumns: [{ name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" }],
  spec: tcpRouteSpec,
  status: gatewayApiRouteStatus,
});
