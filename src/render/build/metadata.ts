/** Facts about a resource in; the `istio` filter metadata that Istio's telemetry and tools read out. */
import { create, type JsonObject } from "@bufbuild/protobuf";
import { type Metadata, MetadataSchema } from "../../gen/envoy/config/core/v3/base_pb.js";
import type { ObjectId, Service } from "../../model/index.ts";
import { packStruct } from "./any.ts";

export function istioMetadata(fields: JsonObject): Metadata {
  return create(MetadataSchema, { filterMetadata: { istio: fields } });
}

/** One entry of `services`: whom telemetry shows as the destination. */
export function serviceMetadata(service: Pick<Service, "host" | "name" | "namespace">): JsonObject {
  return { host: service.host, name: service.name, namespace: service.namespace };
}

/** `…/namespaces/NS/destination-rule/NAME`: how Istio names the object behind a piece of configuration. */
export function configPath(kind: string, meta: ObjectId): string {
  const word = kind.replace(/(?<=[a-z])(?=[A-Z])/g, "-").toLowerCase();
  return `/apis/networking.istio.io/v1/namespaces/${meta.namespace}/${word}/${meta.name}`;
}

/** Exchanges workload facts with a peer on one connection; same settings for clusters and listeners. */
export const metadataExchange = {
  name: "istio.metadata_exchange",
  config: () =>
    packStruct("type.googleapis.com/envoy.tcp.metadataexchange.config.MetadataExchange", {
      enable_discovery: true,
      protocol: "istio-peer-exchange",
    }),
} as const;
