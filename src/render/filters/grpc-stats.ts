/** Counts gRPC messages and leaves the counts for Istio's metrics. */
import { FilterConfigSchema } from "../../gen/envoy/extensions/filters/http/grpc_stats/v3/config_pb.js";
import { packAny } from "../build/any.ts";
import { httpFilter } from "../build/http-filter.ts";
import type { HttpFilterPass } from "./http-filter.ts";

export const grpcStats: HttpFilterPass = () => [
  httpFilter(
    "envoy.filters.http.grpc_stats",
    packAny(FilterConfigSchema, {
      emitFilterState: true,
      perMethodStatSpecifier: { case: "statsForAllMethods", value: { value: false } },
    }),
  ),
];
