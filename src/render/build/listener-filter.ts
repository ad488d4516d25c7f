/** Ports in; listener filters that inspect a connection before its chain is chosen out. */
import { create } from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";
import {
  type ListenerFilter,
  type ListenerFilterChainMatchPredicate,
  ListenerFilterChainMatchPredicateSchema,
  ListenerFilterSchema,
} from "../../gen/envoy/config/listener/v3/listener_components_pb.js";
import { HttpInspectorSchema } from "../../gen/envoy/extensions/filters/listener/http_inspector/v3/http_inspector_pb.js";
import { OriginalDstSchema } from "../../gen/envoy/extensions/filters/listener/original_dst/v3/original_dst_pb.js";
import { OriginalSrcSchema } from "../../gen/envoy/extensions/filters/listener/original_src/v3/original_src_pb.js";
import { ProxyProtocolSchema } from "../../gen/envoy/extensions/filters/listener/proxy_protocol/v3/proxy_protocol_pb.js";
import { TlsInspectorSchema } from "../../gen/envoy/extensions/filters/listener/tls_inspector/v3/tls_inspector_pb.js";
import { packAny } from "./any.ts";

export const originalDestination = (): ListenerFilter =>
  listenerFilter("envoy.filters.listener.original_dst", packAny(OriginalDstSchema, {}));

/** TPROXY keeps the client's address; the mark lets the answer find its way back. */
export const originalSource = (): ListenerFilter =>
  listenerFilter("envoy.filters.listener.original_src", packAny(OriginalSrcSchema, { mark: 1337 }));

export const proxyProtocol = (): ListenerFilter =>
  listenerFilter("envoy.filters.listener.proxy_protocol", packAny(ProxyProtocolSchema, {}));

/** A small first read: most ClientHellos fit, and idle connections stay cheap. */
export const tlsInspector = (disabled?: ListenerFilterChainMatchPredicate): ListenerFilter =>
  listenerFilter(
    "envoy.filters.listener.tls_inspector",
    packAny(TlsInspectorSchema, { initialReadBufferSize: 512 }),
    disabled,
  );

export const httpInspector = (disabled?: ListenerFilterChainMatchPredicate): ListenerFilter =>
  listenerFilter("envoy.filters.listener.http_inspector", packAny(HttpInspectorSchema, {}), disabled);

/** True for connections to one of these ports. */
export function toPorts(ports: readonly number[]): ListenerFilterChainMatchPredicate {
  const rules = ports.map((port) =>
    create(ListenerFilterChainMatchPredicateSchema, {
      rule: { case: "destinationPortRange", value: { start: port, end: port + 1 } },
    }),
  );
  const [only] = rules;
  if (only && rules.length === 1) return only;
  return create(ListenerFilterChainMatchPredicateSchema, { rule: { case: "orMatch", value: { rules } } });
}

export function not(rule: ListenerFilterChainMatchPredicate): ListenerFilterChainMatchPredicate {
  return create(ListenerFilterChainMatchPredicateSchema, { rule: { case: "notMatch", value: rule } });
}

function listenerFilter(name: string, config: Any, disabled?: ListenerFilterChainMatchPredicate): ListenerFilter {
  return create(ListenerFilterSchema, {
    name,
    configType: { case: "typedConfig", value: config },
    ...(disabled ? { filterDisabled: disabled } : {}),
  });
}
