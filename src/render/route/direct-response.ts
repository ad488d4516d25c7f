/** A direct response of a VirtualService in, Envoy's action out. */
import { create } from "@bufbuild/protobuf";
import { type DataSource, DataSourceSchema } from "../../gen/envoy/config/core/v3/base_pb.js";
import {
  type DirectResponseAction,
  DirectResponseActionSchema,
} from "../../gen/envoy/config/route/v3/route_components_pb.js";
import type { HTTPBody, HTTPDirectResponse } from "../../model/index.ts";
import { maxDirectResponseBytes } from "../build/route-config.ts";

export function directResponse(response: HTTPDirectResponse): DirectResponseAction {
  const body = bodyOf(response.body);
  return create(DirectResponseActionSchema, { status: response.status ?? 0, ...(body ? { body } : {}) });
}

/** A body beyond the configured bound would be refused: then the status goes out alone. */
function bodyOf(body: HTTPBody | undefined): DataSource | undefined {
  if (body?.string !== undefined) {
    if (Buffer.byteLength(body.string) > maxDirectResponseBytes) return undefined;
    return create(DataSourceSchema, { specifier: { case: "inlineString", value: body.string } });
  }
  if (body?.bytes === undefined) return undefined;
  const value = new Uint8Array(Buffer.from(body.bytes, "base64"));
  if (value.length > maxDirectResponseBytes) return undefined;
  return create(DataSourceSchema, { specifier: { case: "inlineBytes", value } });
}
