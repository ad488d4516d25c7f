/** Where gRPC finds what one resource names of another: on the stream that it has. Told as istiod tells it, without a wait. */
import { create } from "@bufbuild/protobuf";
import { ConfigSourceSchema } from "../../gen/envoy/config/core/v3/config_source_pb.js";

export const ads = create(ConfigSourceSchema, { configSourceSpecifier: { case: "ads", value: {} } });
