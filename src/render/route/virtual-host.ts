/** The shell of a virtual host and the encoded routes it shares with others in, the encoded virtual host out. */
import { toBinary } from "@bufbuild/protobuf";
import { VirtualHostSchema } from "../../gen/envoy/config/route/v3/route_components_pb.js";
import { RouteConfigurationSchema } from "../../gen/envoy/config/route/v3/route_pb.js";
import { digest, joinKept } from "../../lib/index.ts";
import { type VirtualHostShell, virtualHost } from "../build/route-config.ts";
import { nested, partOf } from "../part.ts";
import type { RouteList } from "./route-list.ts";

/** One virtual host, ready to follow others in a route configuration. */
export interface HostPart {
  readonly name: string;
  /** The virtual host alone. */
  readonly bytes: Uint8Array;
  /** The same as a member of a route configuration. */
  readonly member: Uint8Array;
  readonly hash: string;
  readonly needs: readonly string[];
}

/** Routes in the order of their lists, those that take everything at the end. */
export function virtualHostPart(shell: VirtualHostShell, lists: readonly RouteList[]): HostPart {
  const head = toBinary(VirtualHostSchema, virtualHost(shell));
  const bytes = joinKept([head, ...lists.map(({ routes }) => routes), ...lists.map(({ last }) => last)]);
  return hostPart(shell.name, bytes, [...new Set(lists.flatMap(({ needs }) => needs))]);
}

export function hostPart(name: string, bytes: Uint8Array, needs: readonly string[]): HostPart {
  const { pieces } = nested(RouteConfigurationSchema, "virtualHosts", partOf([bytes]));
  const member = joinKept(pieces);
  return { name, bytes: member.subarray(member.length - bytes.length), member, hash: digest(bytes), needs };
}

export const sameHost = (a: HostPart, b: HostPart): boolean => a.hash === b.hash && a.needs.join() === b.needs.join();
