/** TCPRoute: connections to backends. */
import { defineKind } from "../kind.ts";
import { array, enumOf, type Infer, object } from "../schema.ts";
import { gatewayApiParent, gatewayApiParentRef, gatewayApiRule } from "./shared.ts";

const tcpRouteSpec = object(
  {
    parentRefs: array(gatewayApiParentRef, {
      rules: [
        {
          message:
            "sectionName or port must be specified when parentRefs includes 2 or more references to the same parent",
          rule: "self.all(p1, self.all(p2, p1.group == p2.group && p1.kind == p2.kind && p1.name == p2.name && (((!has(p1.__namespace__) || p1.__namespace__ == '') && (!has(p2.__namespace__) || p2.__namespace__ == '')) || (has(p1.__namespace__) && has(p2.__namespace__) && p1.__namespace__ == p2.__namespace__)) ? ((!has(p1.sectionName) || p1.sectionName == '') == (!has(p2.sectionName) || p2.sectionName == '') && (!has(p1.port) || p1.port == 0) == (!has(p2.port) || p2.port == 0)): true))",
        },
        {
          message:
            "sectionName or port must be unique when parentRefs includes 2 or more references to the same parent",
          rule: "self.all(p1, self.exists_one(p2, p1.group == p2.group && p1.kind == p2.kind && p1.name == p2.name && (((!has(p1.__namespace__) || p1.__namespace__ == '') && (!has(p2.__namespace__) || p2.__namespace__ == '')) || (has(p1.__namespace__) && has(p2.__namespace__) && p1.__namespace__ == p2.__namespace__ )) && (((!has(p1.sectionName) || p1.sectionName == '') && (!has(p2.sectionName) || p2.sectionName == '')) || ( has(p1.sectionName) && has(p2.sectionName) && p1.sectionName == p2.sectionName)) && (((!has(p1.port) || p1.port == 0) && (!has(p2.port) || p2.port == 0)) || (has(p1.port) && has(p2.port) && p1.port == p2.port))))",
        },
      ],
      maxItems: 32,
      listType: "atomic",
    }),
    rules: array(gatewayApiRule, { minItems: 1, maxItems: 1, listType: "atomic" }),
    useDefaultGateways: enumOf(["All", "None"]),
  },
  { required: ["rules"] },
);
export type TCPRouteSpec = Infer<typeof tcpRouteSpec>;

const tcpRouteStatus = object(
  { parents: array(gatewayApiParent, { maxItems: 32, listType: "atomic" }) },
  { required: ["parents"] },
);
export type TCPRouteStatus = Infer<typeof tcpRouteStatus>;

export const tcpRoute = defineKind({
  group: "gateway.networking.k8s.io",
  versions: [
    { name: "v1", served: true, storage: true },
    {
      name: "v1alpha2",
      served: true,
      storage: false,
      deprecationWarning:
        "The v1alpha2 version of TCPRoute has been deprecated and will be removed in a future release of the API. Please upgrade to v1.",
    },
  ],
  kind: "TCPRoute",
  plural: "tcproutes",
  shortNames: [],
  categories: ["gateway-api"],
  scope: "Namespaced",
  printerColumns: [{ name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" }],
  spec: tcpRouteSpec,
  status: tcpRouteStatus,
  required: ["spec"],
  crdAnnotations: {
    "api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/gateway-api/pull/4530",
    "gateway.networking.k8s.io/bundle-version": "v1.6.0",
    "gateway.networking.k8s.io/channel": "experimental",
  },
  encoding: "kubernetes",
});
