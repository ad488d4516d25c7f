/** PeerAuthentication: mTLS of incoming connections. */
import { defineKind } from "./kind.ts";
import { enumOf, type Infer, map, object } from "./schema.ts";
import { workloadSelector } from "./selector.ts";
import { istioStatus } from "./status.ts";

const peerAuthenticationMutualTLS = object(
  {
    mode: enumOf(["UNSET", "DISABLE", "PERMISSIVE", "STRICT"], {
      proto: "istio.security.v1beta1.PeerAuthentication.MutualTLS.Mode",
    }),
  },
  { proto: "istio.security.v1beta1.PeerAuthentication.MutualTLS" },
);
export type PeerAuthenticationMutualTLS = Infer<typeof peerAuthenticationMutualTLS>;

const peerAuthenticationSpec = object(
  {
    selector: workloadSelector,
    mtls: peerAuthenticationMutualTLS,
    portLevelMtls: map(peerAuthenticationMutualTLS, {
      rules: [{ message: "port must be between 1-65535", rule: "self.all(key, 0 < int(key) && int(key) <= 65535)" }],
      minProperties: 1,
      keys: "uint32",
    }),
  },
  {
    proto: "istio.security.v1beta1.PeerAuthentication",
    rules: [
      {
        message: "portLevelMtls requires selector",
        rule: "has(self.portLevelMtls) ? (((has(self.selector) && has(self.selector.matchLabels)) ? self.selector.matchLabels : {}).size() > 0) : true",
      },
    ],
  },
);
export type PeerAuthenticationSpec = Infer<typeof peerAuthenticationSpec>;

export const peerAuthentication = defineKind({
  group: "security.istio.io",
  versions: [
    { name: "v1", served: true, storage: true },
    { name: "v1beta1", served: true, storage: false },
  ],
  kind: "PeerAuthentication",
  plural: "peerauthentications",
  shortNames: ["pa"],
  categories: ["istio-io", "security-istio-io"],
  scope: "Namespaced",
  printerColumns: [
    { name: "Mode", type: "string", jsonPath: ".spec.mtls.mode" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
  ],
  spec: peerAuthenticationSpec,
  status: istioStatus,
  crdLabels: { app: "istio-pilot", chart: "istio", heritage: "Tiller", istio: "security", release: "istio" },
  encoding: "protobuf",
});
