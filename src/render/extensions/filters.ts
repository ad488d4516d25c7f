/** A proxy's class and a place in a filter chain in; the filters of the extensions that are for it out. */
import { create } from "@bufbuild/protobuf";
import { ApiVersion, type ConfigSource, ConfigSourceSchema } from "../../gen/envoy/config/core/v3/config_source_pb.js";
import { type Filter, FilterSchema } from "../../gen/envoy/config/listener/v3/listener_components_pb.js";
import { LuaSchema } from "../../gen/envoy/extensions/filters/http/lua/v3/lua_pb.js";
import {
  type HttpFilter,
  HttpFilterSchema,
} from "../../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import { type OutboundFacet, objectName, type TrafficSelector } from "../../model/index.ts";
import { packAny } from "../build/any.ts";
import { seconds } from "../build/duration.ts";
import type { Direction } from "../proxy/direction.ts";
import type { View } from "../view.ts";
import { attachedExtensions, type Extension, type ExtensionPhase } from "./extension.ts";

export interface ExtensionPlace {
  readonly direction: Direction;
  /** Port that the listener or the chain is for; 0 where it is for any. */
  readonly port: number;
}

export function extensionFilters(
  view: View<OutboundFacet>,
  phase: ExtensionPhase,
  place: ExtensionPlace,
): readonly HttpFilter[] {
  return extensionsAt(view, phase, place).flatMap((extension) => httpFilter(extension) ?? []);
}

export function extensionNetworkFilters(
  view: View<OutboundFacet>,
  phase: ExtensionPhase,
  place: ExtensionPlace,
): readonly Filter[] {
  return extensionsAt(view, phase, place).flatMap((extension) => networkFilter(extension) ?? []);
}

function extensionsAt(view: View<OutboundFacet>, phase: ExtensionPhase, place: ExtensionPlace): readonly Extension[] {
  const found = attachedExtensions(view).filter(
    (extension) => extension.phase === phase && matches(extension.match, place),
  );
  for (const { object } of found) view.mesh.graph.note(objectName(object.kind, object), "spec");
  return found;
}

function matches(selectors: readonly TrafficSelector[], place: ExtensionPlace): boolean {
  return selectors.length === 0 || selectors.some((selector) => matchesOne(selector, place));
}

/** A gateway counts as a client. */
function matchesOne({ mode = "UNDEFINED", ports = [] }: TrafficSelector, { direction, port }: ExtensionPlace): boolean {
  const own = direction === "inbound" ? "SERVER" : "CLIENT";
  const isMode = mode === "UNDEFINED" || mode === "CLIENT_AND_SERVER" || mode === own;
  return isMode && (ports.length === 0 || ports.some(({ number = 0 }) => number !== 0 && number === port));
}

function httpFilter({ code, resource }: Extension): HttpFilter | undefined {
  if (code.kind === "lua") {
    const defaultSourceCode = { specifier: { case: "inlineString" as const, value: code.lua.inlineCode ?? "" } };
    return create(HttpFilterSchema, {
      name: resource,
      configType: { case: "typedConfig", value: packAny(LuaSchema, { defaultSourceCode }) },
    });
  }
  if (code.type === "NETWORK") return undefined;
  return create(HttpFilterSchema, {
    name: resource,
    configType: { case: "configDiscovery", value: { configSource: source(), typeUrls: types("http") } },
  });
}

function networkFilter({ code, resource }: Extension): Filter | undefined {
  if (code.kind !== "wasm" || code.type !== "NETWORK") return undefined;
  return create(FilterSchema, {
    name: resource,
    configType: { case: "configDiscovery", value: { configSource: source(), typeUrls: types("network") } },
  });
}

/** RBAC stands in where the module cannot be had: the agent then lets everything or nothing through. */
const types = (level: "http" | "network"): string[] =>
  ["wasm.v3.Wasm", "rbac.v3.RBAC"].map((type) => `type.googleapis.com/envoy.extensions.filters.${level}.${type}`);

/** The listener waits without end: the filter may be what protects it. */
const source = (): ConfigSource =>
  create(ConfigSourceSchema, {
    configSourceSpecifier: { case: "ads", value: {} },
    initialFetchTimeout: seconds(0),
    resourceApiVersion: ApiVersion.V3,
  });
