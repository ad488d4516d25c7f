/**
 * What differs between the default routes of services in, their encoded route out. Every service has one and nearly all
 * of it is the same, so that is encoded once and the rest put around it.
 */
import { create, type DescMessage, toBinary } from "@bufbuild/protobuf";
import {
  DecoratorSchema,
  type RouteAction,
  RouteActionSchema,
  RouteSchema,
  VirtualHostSchema,
} from "../../gen/envoy/config/route/v3/route_components_pb.js";
import { catchAllRoute } from "./route-config.ts";

export interface DefaultRoute {
  readonly cluster: string;
  readonly operation: string;
  /** The action but for its cluster, encoded. */
  readonly action: Uint8Array;
}

export const defaultRouteName = "default";

export function encodeAction(action: RouteAction): Uint8Array {
  return toBinary(RouteActionSchema, action);
}

/** As the field of a virtual host. */
export function encodeDefaultRoute({ cluster, operation, action }: DefaultRoute): Uint8Array {
  const text = new TextEncoder();
  return field(
    VirtualHostSchema,
    "routes",
    shell,
    field(RouteSchema, "route", field(RouteActionSchema, "cluster", text.encode(cluster)), action),
    field(RouteSchema, "decorator", field(DecoratorSchema, "operation", text.encode(operation))),
  );
}

const shell = toBinary(RouteSchema, catchAllRoute(defaultRouteName, { case: undefined }));

/** Texts and messages alike: a tag, a length, the bytes. */
function field(schema: DescMessage, name: string, ...contents: readonly Uint8Array[]): Uint8Array {
  const content = Buffer.concat(contents);
  const tag = varint((schema.field[name]?.number ?? 0) * 8 + 2);
  return Buffer.concat([tag, varint(content.length), content]);
}
