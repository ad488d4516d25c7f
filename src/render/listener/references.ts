/** An encoded listener in; what it asks the control plane for by name, routes and extensions, out. */
import { fromBinary } from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import type { Filter, FilterChain } from "../../gen/envoy/config/listener/v3/listener_components_pb.js";
import { ListenerSchema } from "../../gen/envoy/config/listener/v3/listener_pb.js";
import { HttpConnectionManagerSchema } from "../../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import { bytesOf, type Resource } from "../../model/index.ts";
import type { Layer } from "../layer.ts";

export interface ListenerReferences {
  readonly routes: readonly string[];
  readonly extensions: readonly string[];
}

/** Of all listeners in the layers. */
export function referencesOf(layers: readonly Layer[]): ListenerReferences {
  const each = layers.flatMap((layer) => [...layer.values()].map(resourceReferences));
  return {
    routes: unique(each.flatMap(({ routes }) => routes)),
    extensions: unique(each.flatMap(({ extensions }) => extensions)),
  };
}

const none: ListenerReferences = { routes: [], extensions: [] };
const unique = (names: readonly string[]): readonly string[] => [...new Set(names)].sort();

/** A listener never changes, so each is looked at once, whoever has it. */
const known = new WeakMap<Resource, ListenerReferences>();

function resourceReferences(resource: Resource): ListenerReferences {
  const found = known.get(resource) ?? readReferences(bytesOf(resource));
  known.set(resource, found);
  return found;
}

function readReferences(bytes: Uint8Array): ListenerReferences {
  const listener = fromBinary(ListenerSchema, bytes);
  const chains = [...listener.filterChains, ...(listener.defaultFilterChain ? [listener.defaultFilterChain] : [])];
  const inChains = chains.map(chainReferences);
  const own = listener.listenerFilters.flatMap(({ name, configType }) =>
    configType.case === "configDiscovery" ? [name] : [],
  );
  return {
    routes: inChains.flatMap(({ routes }) => routes),
    extensions: [...own, ...inChains.flatMap(({ extensions }) => extensions)],
  };
}

function chainReferences({ filters }: FilterChain): ListenerReferences {
  const each = filters.map(filterReferences);
  return { routes: each.flatMap(({ routes }) => routes), extensions: each.flatMap(({ extensions }) => extensions) };
}

function filterReferences({ name, configType }: Filter): ListenerReferences {
  if (configType.case === "configDiscovery") return { routes: [], extensions: [name] };
  if (configType.case !== "typedConfig") return none;
  const manager = anyUnpack(configType.value, HttpConnectionManagerSchema);
  if (!manager) return none;
  const { routeSpecifier, httpFilters } = manager;
  return {
    routes: routeSpecifier.case === "rds" ? [routeSpecifier.value.routeConfigName] : [],
    extensions: httpFilters.flatMap((filter) => (filter.configType.case === "configDiscovery" ? [filter.name] : [])),
  };
}
