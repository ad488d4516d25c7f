/** An encoded listener in; the same for showing, with the secrets of symmetric token keys hidden, out. */
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { type Any, anyPack, anyUnpack } from "@bufbuild/protobuf/wkt";
import { type Filter, FilterSchema } from "../../gen/envoy/config/listener/v3/listener_components_pb.js";
import { ListenerSchema } from "../../gen/envoy/config/listener/v3/listener_pb.js";
import { JwtAuthenticationSchema } from "../../gen/envoy/extensions/filters/http/jwt_authn/v3/config_pb.js";
import { HttpConnectionManagerSchema } from "../../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import { shownJwks } from "../../model/index.ts";
import { jwtFilterName } from "./jwt-names.ts";

/** Whoever reads such a key can make tokens with it: Envoy needs it, readers of dumps do not. */
export function withoutSharedKeys(listener: Uint8Array): Uint8Array {
  if (!Buffer.from(listener).includes(jwtFilterName)) return listener;
  const message = fromBinary(ListenerSchema, listener);
  const chains = [...message.filterChains, ...(message.defaultFilterChain ? [message.defaultFilterChain] : [])];
  for (const chain of chains) chain.filters = chain.filters.map(shownFilter);
  return toBinary(ListenerSchema, message);
}

function shownFilter(filter: Filter): Filter {
  if (filter.configType.case !== "typedConfig") return filter;
  const manager = anyUnpack(filter.configType.value, HttpConnectionManagerSchema);
  if (!manager) return filter;
  for (const one of manager.httpFilters)
    if (one.configType.case === "typedConfig")
      one.configType = { case: "typedConfig", value: shownTokens(one.configType.value) };
  const value = anyPack(HttpConnectionManagerSchema, manager);
  return { ...filter, $typeName: FilterSchema.typeName, configType: { case: "typedConfig", value } };
}

function shownTokens(config: Any): Any {
  const tokens = anyUnpack(config, JwtAuthenticationSchema);
  if (!tokens) return config;
  for (const { jwksSourceSpecifier: source } of Object.values(tokens.providers))
    if (source.case === "localJwks" && source.value.specifier.case === "inlineString")
      source.value.specifier = { case: "inlineString", value: shownJwks(source.value.specifier.value) };
  return anyPack(JwtAuthenticationSchema, tokens);
}
