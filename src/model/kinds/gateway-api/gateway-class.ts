/** GatewayClass: which controller looks after a Gateway. */
import { array, type Infer, object, string } from "../schema.ts";
import { defineGatewayApiKind } from "./kind.ts";
import { gatewayApiConditions, gatewayApiParametersRef } from "./shared.ts";
import { controllerName, waitingFor } from "./words.ts";

const gatewayClassSpec = object(
  {
    controllerName: controllerName({ rules: [{ message: "Value is immutable", rule: "self == oldSelf" }] }),
    description: string({ maxLength: 64 }),
    parametersRef: gatewayApiParametersRef,
  },
  { required: ["controllerName"] },
);
export type GatewayClassSpec = Infer<typeof gatewayClassSpec>;

const gatewayClassSupportedFeature = object({ name: string() }, { required: ["name"] });
export type GatewayClassSupportedFeature = Infer<typeof gatewayClassSupportedFeature>;

const gatewayClassStatus = object(
  {
    conditions: gatewayApiConditions({ default: waitingFor("Accepted") }),
    supportedFeatures: array(gatewayClassSupportedFeature, { maxItems: 64, listType: "map", listMapKeys: ["name"] }),
  },
  {
    default: {
      conditions: waitingFor("Accepted"),
    },
  },
);
export type GatewayClassStatus = Infer<typeof gatewayClassStatus>;

export const gatewayClass = defineGatewayApiKind({
  versions: [
    { name: "v1", served: true, storage: true },
    { name: "v1beta1", served: true, storage: false },
  ],
  kind: "GatewayClass",
  plural: "gatewayclasses",
  shortNames: ["gc"],
  scope: "Cluster",
  printerColumns: [
    { name: "Controller", type: "string", jsonPath: ".spec.controllerName" },
    { name: "Accepted", type: "string", jsonPath: '.status.conditions[?(@.type=="Accepted")].status' },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
    { name: "Description", type: "string", jsonPath: ".spec.description", priority: 1 },
  ],
  spec: gatewayClassSpec,
  status: gatewayClassStatus,
});
