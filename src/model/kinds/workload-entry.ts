/** WorkloadEntry: one workload outside Kubernetes. */
import { defineKind } from "./kind.ts";
import { type Infer, map, object, type Rule, string, uint32 } from "./schema.ts";
import { istioStatus } from "./status.ts";

const fields = {
  address: string({
    rules: [
      {
        message: "UDS must be an absolute path or abstract socket",
        rule: 'self.startsWith("unix://") ? (self.substring(7, 8) == "/" || self.substring(7, 8) == "@") : true',
      },
      { message: "UDS may not be a dir", rule: 'self.startsWith("unix://") ? !self.endsWith("/") : true' },
    ],
    maxLength: 256,
  }),
  ports: map(uint32({ rules: [{ message: "port must be between 1-65535", rule: "0 < self && self <= 65535" }] }), {
    rules: [
      {
        message: "port name must be valid",
        rule: 'self.all(key, size(key) < 63 && key.matches("^[a-zA-Z0-9](?:[-a-zA-Z0-9]*[a-zA-Z0-9])?$"))',
      },
    ],
    maxProperties: 128,
  }),
  labels: map(string(), { maxProperties: 256 }),
  network: string({ maxLength: 2048 }),
  locality: string({ maxLength: 2048 }),
  weight: uint32(),
  serviceAccount: string({ maxLength: 253 }),
};

const noPortsOnSockets: Rule = {
  message: "UDS may not include ports",
  rule: '(has(self.address) ? self.address : "").startsWith("unix://") ? !has(self.ports) : true',
};

export const workloadEntrySpec = object(fields, {
  proto: "istio.networking.v1alpha3.WorkloadEntry",
  rules: [{ message: "Address is required", rule: "has(self.address) || has(self.network)" }, noPortsOnSockets],
});
export type WorkloadEntrySpec = Infer<typeof workloadEntrySpec>;

/** What the entries of a group have in common: the address comes from the workload. */
export const workloadTemplate = object(fields, {
  proto: "istio.networking.v1alpha3.WorkloadEntry",
  rules: [noPortsOnSockets],
});
export type WorkloadTemplate = Infer<typeof workloadTemplate>;

export const workloadEntry = defineKind({
  group: "networking.istio.io",
  versions: [
    { name: "v1", served: true, storage: true },
    { name: "v1alpha3", served: true, storage: false },
    { name: "v1beta1", served: true, storage: false },
  ],
  kind: "WorkloadEntry",
  plural: "workloadentries",
  shortNames: ["we"],
  categories: ["istio-io", "networking-istio-io"],
  scope: "Namespaced",
  printerColumns: [
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
    { name: "Address", type: "string", jsonPath: ".spec.address" },
  ],
  spec: workloadEntrySpec,
  status: istioStatus,
  required: ["spec"],
  crdLabels: { app: "istio-pilot", chart: "istio", heritage: "Tiller", release: "istio" },
  encoding: "protobuf",
});
