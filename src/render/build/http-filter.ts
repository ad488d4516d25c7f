/** A name and a packed configuration in; an HTTP filter out. */
import { create } from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";
import {
  type HttpFilter,
  HttpFilterSchema,
} from "../../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";

export function httpFilter(name: string, config: Any): HttpFilter {
  return create(HttpFilterSchema, { name, configType: { case: "typedConfig", value: config } });
}
