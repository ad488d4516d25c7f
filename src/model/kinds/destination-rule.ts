/** DestinationRule: policies and subsets of a host. */
import { defineKind } from "./kind.ts";
import { array, type Infer, map, object, string } from "./schema.ts";
import { workloadSelector } from "./selector.ts";
import { istioStatus } from "./status.ts";
import { trafficPolicy } from "./traffic-policy.ts";

const destinationSubset = object(
  { name: string(), labels: map(string()), trafficPolicy },
  { proto: "istio.networking.v1alpha3.Subset", required: ["name"] },
);
export type DestinationSubset = Infer<typeof destinationSubset>;

const destinationRuleSpec = object(
  { host: string(), trafficPolicy, subsets: array(destinationSubset), exportTo: array(string()), workloadSelector },
  { proto: "istio.networking.v1alpha3.DestinationRule", required: ["host"] },
);
export type DestinationRuleSpec = Infer<typeof destinationRuleSpec>;

export const destinationRule = defineKind({
  group: "networking.istio.io",
  versions: [
    { name: "v1", served: true, storage: true },
    { name: "v1alpha3", served: true, storage: false },
    { name: "v1beta1", served: true, storage: false },
  ],
  kind: "DestinationRule",
  plural: "destinationrules",
  shortNames: ["dr"],
  categories: ["istio-io", "networking-istio-io"],
  scope: "Namespaced",
  printerColumns: [
    { name: "Host", type: "string", jsonPath: ".spec.host" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
  ],
  spec: destinationRuleSpec,
  status: istioStatus,
  crdLabels: { app: "istio-pilot", chart: "istio", heritage: "Tiller", release: "istio" },
  encoding: "protobuf",
});
