/** ProxyConfig, the API object: proxy settings by workload. */
import { defineKind } from "./kind.ts";
import { type Infer, int32, map, object, string } from "./schema.ts";
import { workloadSelector } from "./selector.ts";
import { istioStatus } from "./status.ts";

export const proxyImage = object({ imageType: string() }, { proto: "istio.networking.v1beta1.ProxyImage" });
export type ProxyImage = Infer<typeof proxyImage>;

const proxyConfigSpec = object(
  {
    selector: workloadSelector,
    concurrency: int32({ nullable: true, minimum: 0 }),
    environmentVariables: map(string({ maxLength: 2048 })),
    image: proxyImage,
  },
  { proto: "istio.networking.v1beta1.ProxyConfig" },
);
export type ProxyConfigSpec = Infer<typeof proxyConfigSpec>;

export const proxyConfig = defineKind({
  group: "networking.istio.io",
  versions: [{ name: "v1beta1", served: true, storage: true }],
  kind: "ProxyConfig",
  plural: "proxyconfigs",
  shortNames: [],
  categories: ["istio-io", "networking-istio-io"],
  scope: "Namespaced",
  printerColumns: [],
  spec: proxyConfigSpec,
  status: istioStatus,
  crdLabels: { app: "istio-pilot", chart: "istio", heritage: "Tiller", release: "istio" },
  encoding: "protobuf",
});
