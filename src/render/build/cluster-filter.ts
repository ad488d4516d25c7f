/** Filters on the connections of clusters: what is known of the Envoy build in, the list out. */
import { create } from "@bufbuild/protobuf";
import { type Filter, FilterSchema } from "../../gen/envoy/config/cluster/v3/filter_pb.js";
import type { BuildFacet } from "../../model/index.ts";
import { hasIstioFilters } from "../proxy/profile.ts";
import { metadataExchange } from "./metadata.ts";

const exchange = create(FilterSchema, { name: metadataExchange.name, typedConfig: metadataExchange.config() });

export function clusterFilters(proxy: BuildFacet): Filter[] {
  return hasIstioFilters(proxy) ? [exchange] : [];
}
