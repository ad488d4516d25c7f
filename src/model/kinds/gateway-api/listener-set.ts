/** ListenerSet: further listeners of a Gateway. */
import { defineKind } from "../kind.ts";
import { array, type Infer, object, string } from "../schema.ts";
import { gatewayApiCondition, gatewayApiListener, gatewayApiStatusListener } from "./shared.ts";
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
    listeners: array(gatewayApiListener, {
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
          rule: "self.all(l1, !has(l1.port) || self.exists_one(l2, has(l2.port) && l1.port == l2.port && l1.protocol == l2.protocol && (has(l1.hostname) && has(l2.hostname) ? l1.hostname == l2.hostname : !has(l1.hostname) && !has(l2.hostname))))",
        },
      ],
      minItems: 1,
      maxItems: 64,
      listType: "map",
      listMapKeys: ["name"],
    }),
    parentRef: listenerSetParentRef,
  },
  { required: ["listeners", "parentRef"] },
);
export type ListenerSetSpec = Infer<typeof listenerSetSpec>;

const listenerSetStatus = object(
  {
    conditions: array(gatewayApiCondition, {
      default: waitingFor("Accepted", "Programmed"),
      maxItems: 8,
      listType: "map",
      listMapKeys: ["type"],
    }),
    listeners: array(gatewayApiStatusListener, { maxItems: 64, listType: "map", listMapKeys: ["name"] }),
  },
  {
    default: {
      conditions: waitingFor("Accepted", "Programmed"),
    },
  },
);
export type ListenerSetStatus = Infer<typeof listenerSetStatus>;

export const listenerSet = defineKind({
  group: "gateway.networking.k8s.io",
  versions: [{ name: "v1", served: true, storage: true }],
  kind: "ListenerSet",
  plural: "listenersets",
  shortNames: ["lset"],
  categories: ["gateway-api"],
  scope: "Namespaced",
  printerColumns: [
    { name: "Accepted", type: "string", jsonPath: '.status.conditions[?(@.type=="Accepted")].status' },
    { name: "Programmed", type: "string", jsonPath: '.status.conditions[?(@.type=="Programmed")].status' },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
  ],
  spec: listenerSetSpec,
  status: listenerSetStatus,
  required: ["spec"],
  crdAnnotations: {
    "api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/gateway-api/pull/4530",
    "gateway.networking.k8s.io/bundle-version": "v1.6.0",
    "gateway.networking.k8s.io/channel": "experimental",
  },
  encoding: "kubernetes",
});
