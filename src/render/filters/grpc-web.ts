/** Translates gRPC-Web, on ports declared as such. */
import { GrpcWebSchema } from "../../gen/envoy/extensions/filters/http/grpc_web/v3/grpc_web_pb.js";
import { packAny } from "../build/any.ts";
import { httpFilter } from "../build/http-filter.ts";
import type { HttpFilterPass } from "./http-filter.ts";

export const grpcWeb: HttpFilterPass = ({ protocol }) =>
  protocol === "GRPC-Web" ? [httpFilter("envoy.filters.http.grpc_web", packAny(GrpcWebSchema, {}))] : [];
