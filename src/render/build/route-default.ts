/**
 * What differs between the default routes of services in, an encoded route out. Every service has one and nearly all of
 * it is the same in each, so that is encoded once and the rest written around it.
 */
import { type DescMessage, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import {
  DecoratorSchema,
  type RouteAction,
  RouteActionSchema,
  RouteSchema,
  VirtualHostSchema,
} from "../../gen/envoy/config/route/v3/route_components_pb.js";
import { catchAllRoute } from "./route-config.ts";

export const defaultRouteName = "default";

export interface DefaultRoute {
  readonly cluster: string;
  readonly operation: string;
  /** What `encodeAction` made of actions without cluster; their fields add up. */
  readonly actions: readonly Uint8Array[];
}

export function encodeAction(action: RouteAction): Uint8Array {
  return toBinary(RouteActionSchema, action);
}

/** As the field of a virtual host. */
export function encodeDefaultRoute({ cluster, operation, actions }: DefaultRoute): Uint8Array {
  const writer = new BinaryWriter();
  open(writer, VirtualHostSchema, "routes").fork().raw(shell);
  open(writer, RouteSchema, "route").fork();
  open(writer, RouteActionSchema, "cluster").string(cluster);
  for (const action of actions) writer.raw(action);
  writer.join();
  open(writer, RouteSchema, "decorator").fork();
  open(writer, DecoratorSchema, "operation").string(operation);
  return writer.join().join().finish();
}

const shell = toBinary(RouteSchema, catchAllRoute(defaultRouteName, { case: undefined }));

function open(writer: BinaryWriter, schema: DescMessage, field: string): BinaryWriter {
  return writer.tag(schema.field[field]?.number ?? 0, WireType.LengthDelimited);
}
