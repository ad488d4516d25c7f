/** ServiceEntry: services that the registry does not know by itself. */
import { defineKind } from "./kind.ts";
import { array, enumOf, type Infer, intOrString, object, string, uint32 } from "./schema.ts";
import { sidecarWorkloadSelector } from "./sidecar.ts";
import { analysisMessageBase, istioCondition } from "./status.ts";
import { workloadEntrySpec } from "./workload-entry.ts";

const serviceEntryPort = object(
  {
    number: uint32({ rules: [{ message: "port must be between 1-65535", rule: "0 < self && self <= 65535" }] }),
    protocol: string({ maxLength: 256 }),
    name: string({ maxLength: 256 }),
    targetPort: uint32({ rules: [{ message: "port must be between 1-65535", rule: "0 < self && self <= 65535" }] }),
  },
  { proto: "istio.networking.v1alpha3.ServicePort", required: ["number", "name"] },
);
export type ServiceEntryPort = Infer<typeof serviceEntryPort>;

const serviceEntrySpec = object(
  {
    hosts: array(string({ rules: [{ message: "hostname cannot be wildcard", rule: 'self != "*"' }] }), {
      minItems: 1,
      maxItems: 256,
    }),
    addresses: array(string({ maxLength: 64 }), { maxItems: 256 }),
    ports: array(serviceEntryPort, {
      rules: [
        {
          message: "port number cannot be duplicated",
          rule: "self.all(l1, self.exists_one(l2, l1.number == l2.number))",
        },
      ],
      maxItems: 256,
      listType: "map",
      listMapKeys: ["name"],
    }),
    location: enumOf(["MESH_EXTERNAL", "MESH_INTERNAL"], { proto: "istio.networking.v1alpha3.ServiceEntry.Location" }),
    resolution: enumOf(["NONE", "STATIC", "DNS", "DNS_ROUND_ROBIN", "DYNAMIC_DNS"], {
      proto: "istio.networking.v1alpha3.ServiceEntry.Resolution",
    }),
    endpoints: array(workloadEntrySpec, { maxItems: 4096 }),
    workloadSelector: sidecarWorkloadSelector,
    exportTo: array(string()),
    subjectAltNames: array(string()),
  },
  {
    proto: "istio.networking.v1alpha3.ServiceEntry",
    required: ["hosts"],
    rules: [
      {
        message: "only one of WorkloadSelector or Endpoints can be set",
        rule: "(has(self.workloadSelector) ? 1 : 0) + (has(self.endpoints) ? 1 : 0) <= 1",
      },
      {
        message: "CIDR addresses are allowed only for NONE/STATIC resolution types",
        rule: '!((has(self.addresses) ? self.addresses : []).exists(k, k.contains("/")) && !((has(self.resolution) ? self.resolution : "NONE") in ["STATIC", "NONE"]))',
      },
      {
        message: "NONE mode cannot set endpoints",
        rule: '((has(self.resolution) ? self.resolution : "NONE") == "NONE") ? !has(self.endpoints) : true',
      },
      {
        message: "DNS_ROUND_ROBIN mode cannot have multiple endpoints",
        rule: '((has(self.resolution) ? self.resolution : "") == "DNS_ROUND_ROBIN") ? ((has(self.endpoints) ? self.endpoints : []).size() <= 1) : true',
      },
    ],
  },
);
export type ServiceEntrySpec = Infer<typeof serviceEntrySpec>;

const serviceEntryStatus = object(
  {
    conditions: array(istioCondition),
    validationMessages: array(analysisMessageBase),
    observedGeneration: intOrString(),
  },
  { proto: "istio.networking.v1alpha3.ServiceEntryStatus", preserveUnknown: true },
);
export type ServiceEntryStatus = Infer<typeof serviceEntryStatus>;

export const serviceEntry = defineKind({
  group: "networking.istio.io",
  versions: [
    { name: "v1", served: true, storage: true },
    { name: "v1alpha3", served: true, storage: false },
    { name: "v1beta1", served: true, storage: false },
  ],
  kind: "ServiceEntry",
  plural: "serviceentries",
  shortNames: ["se"],
  categories: ["istio-io", "networking-istio-io"],
  scope: "Namespaced",
  printerColumns: [
    { name: "Hosts", type: "string", jsonPath: ".spec.hosts" },
    { name: "Location", type: "string", jsonPath: ".spec.location" },
    { name: "Resolution", type: "string", jsonPath: ".spec.resolution" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
  ],
  spec: serviceEntrySpec,
  status: serviceEntryStatus,
  required: ["spec"],
  crdLabels: { app: "istio-pilot", chart: "istio", heritage: "Tiller", release: "istio" },
  encoding: "protobuf",
});
