/** ListenerSet: further listeners of a Gateway. */
import { array, type Infer, object, string } from "../schema.ts";
import { defineGatewayApiKind } from "./kind.ts";
import { gatewayApiConditions, gatewayApiListeners, gatewayApiStatusListener } from "./shared.ts";
import { groupName, kindName, label, waitingFor } from "./words.ts";

const listenerSetParentRef = object(
  {
    group: groupName("gateway.networking.k8s.io"),
    kind: kindName("Gateway"),
    name: string({ minLength: 1, maxLength: 253 }),
    namespace: label(),
  },
  { required: ["name"] },
);
export type ListenerSetParentRef = Infer<typeof listenerSetParentRef>;

const listenerSetSpec = object(
  {
    listeners: gatewayApiListeners(
      "self.all(l1, !has(l1.port) || self.exists_one(l2, has(l2.port) && l1.port == l2.port && l1.protocol == l2.protocol && (has(l1.hostname) && has(l2.hostname) ? l1.hostname == l2.hostname : !has(l1.hostname) && !has(l2.hostname))))",
    ),
    parentRef: listenerSetParentRef,
  },
  { required: ["listeners", "parentRef"] },
);
export type ListenerSetSpec = Infer<typeof listenerSetSpec>;

const listenerSetStatus = object(
  {
    conditions: gatewayApiConditions({ default: waitingFor("Accepted", "Programmed") }),
    listeners: array(gatewayApiStatusListener, { maxItems: 64, listType: "map", listMapKeys: ["name"] }),
  },
  {
    default: {
      conditions: waitingFor("Accepted", "Programmed"),
    },
  },
);
export type ListenerSetStatus = Infer<typeof listenerSetStatus>;

export const listenerSet = defineGatewayApiKind({
  versions: [{ name: "v1", served: true, storage: true }],
  kind: "ListenerSet",
  plural: "listenersets",
  shortNames: ["lset"],
  scope: "Namespaced",
  printerColumns: [
    { name: "Accepted", type: "string", jsonPath: '.status.conditions[?(@.type=="Accepted")].status' },
    { name: "Programmed", type: "string", jsonPath: '.status.conditions[?(@.type=="Programmed")].status' },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
  ],
  spec: listenerSetSpec,
  status: listenerSetStatus,
});
