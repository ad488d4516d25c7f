/** WorkloadGroup: the template of workloads that register themselves. */
import { defineKind } from "./kind.ts";
import { array, type Infer, int32, map, object, string, uint32 } from "./schema.ts";
import { istioStatus } from "./status.ts";
import { workloadTemplate } from "./workload-entry.ts";

const workloadGroupObjectMeta = object(
  { labels: map(string(), { maxProperties: 256 }), annotations: map(string(), { maxProperties: 256 }) },
  { proto: "istio.networking.v1alpha3.WorkloadGroup.ObjectMeta" },
);
export type WorkloadGroupObjectMeta = Infer<typeof workloadGroupObjectMeta>;

const httpHeader = object(
  { name: string({ pattern: "^[-_A-Za-z0-9]+$" }), value: string() },
  { proto: "istio.networking.v1alpha3.HTTPHeader" },
);
export type HTTPHeader = Infer<typeof httpHeader>;

const httpHealthCheckConfig = object(
  {
    path: string(),
    port: uint32({ rules: [{ message: "port must be between 1-65535", rule: "0 < self && self <= 65535" }] }),
    host: string(),
    scheme: string({
      rules: [{ message: "scheme must be one of [HTTP, HTTPS]", rule: 'self in ["", "HTTP", "HTTPS"]' }],
    }),
    httpHeaders: array(httpHeader),
  },
  { proto: "istio.networking.v1alpha3.HTTPHealthCheckConfig", required: ["port"] },
);
export type HTTPHealthCheckConfig = Infer<typeof httpHealthCheckConfig>;

const tcpHealthCheckConfig = object(
  {
    host: string(),
    port: uint32({ rules: [{ message: "port must be between 1-65535", rule: "0 < self && self <= 65535" }] }),
  },
  { proto: "istio.networking.v1alpha3.TCPHealthCheckConfig", required: ["port"] },
);
export type TCPHealthCheckConfig = Infer<typeof tcpHealthCheckConfig>;

const execHealthCheckConfig = object(
  { command: array(string({ minLength: 1 })) },
  { proto: "istio.networking.v1alpha3.ExecHealthCheckConfig", required: ["command"] },
);
export type ExecHealthCheckConfig = Infer<typeof execHealthCheckConfig>;

const grpcHealthCheckConfig = object(
  {
    port: uint32({ rules: [{ message: "port must be between 1-65535", rule: "0 < self && self <= 65535" }] }),
    service: string(),
  },
  { proto: "istio.networking.v1alpha3.GrpcHealthCheckConfig" },
);
export type GrpcHealthCheckConfig = Infer<typeof grpcHealthCheckConfig>;

export const readinessProbe = object(
  {
    initialDelaySeconds: int32({ minimum: 0 }),
    timeoutSeconds: int32({ minimum: 0 }),
    periodSeconds: int32({ minimum: 0 }),
    successThreshold: int32({ minimum: 0 }),
    failureThreshold: int32({ minimum: 0 }),
    httpGet: httpHealthCheckConfig,
    tcpSocket: tcpHealthCheckConfig,
    exec: execHealthCheckConfig,
    grpc: grpcHealthCheckConfig,
  },
  { proto: "istio.networking.v1alpha3.ReadinessProbe", oneOf: [["httpGet", "tcpSocket", "exec", "grpc"]] },
);
export type ReadinessProbe = Infer<typeof readinessProbe>;

const workloadGroupSpec = object(
  { metadata: workloadGroupObjectMeta, template: workloadTemplate, probe: readinessProbe },
  { proto: "istio.networking.v1alpha3.WorkloadGroup", required: ["template"] },
);
export type WorkloadGroupSpec = Infer<typeof workloadGroupSpec>;

export const workloadGroup = defineKind({
  group: "networking.istio.io",
  versions: [
    { name: "v1", served: true, storage: true },
    { name: "v1alpha3", served: true, storage: false },
    { name: "v1beta1", served: true, storage: false },
  ],
  kind: "WorkloadGroup",
  plural: "workloadgroups",
  shortNames: ["wg"],
  categories: ["istio-io", "networking-istio-io"],
  scope: "Namespaced",
  printerColumns: [{ name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" }],
  spec: workloadGroupSpec,
  status: istioStatus,
  required: ["spec"],
  crdLabels: { app: "istio-pilot", chart: "istio", heritage: "Tiller", release: "istio" },
  encoding: "protobuf",
});
