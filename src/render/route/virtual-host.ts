/** The shell of a virtual host and the encoded routes it shares with others in, the encoded virtual host out. */
import { toBinary } from "@bufbuild/protobuf";
import { VirtualHostSchema } from "../../gen/envoy/config/route/v3/route_components_pb.js";
import { type VirtualHostShell, virtualHost } from "../build/route-config.ts";
import type { Part } from "../view.ts";
import type { RouteList } from "./route-list.ts";

/** Routes in the order of their lists, those that take everything at the end. */
export function virtualHostPart(shell: VirtualHostShell, lists: readonly RouteList[]): Part {
  const head = toBinary(VirtualHostSchema, virtualHost(shell));
  const bytes = Buffer.concat([head, ...lists.map(({ routes }) => routes), ...lists.map(({ last }) => last)]);
  return { bytes, needs: [...new Set(lists.flatMap(({ needs }) => needs))] };
}
