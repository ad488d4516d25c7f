/** An inbound listener in; the same with patches on the route configurations inside its connection managers out. */
import { anyPack, anyUnpack } from "@bufbuild/protobuf/wkt";
import type { Filter } from "../../gen/envoy/config/listener/v3/listener_components_pb.js";
import type { Listener } from "../../gen/envoy/config/listener/v3/listener_pb.js";
import { HttpConnectionManagerSchema } from "../../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import { connectionManager } from "./http-filter.ts";
import type { PatchRun } from "./patch-run.ts";
import { patchRoutes } from "./route.ts";

/** Comes before the listener's own patches: those see routes that have been patched. */
export function patchInlineRoutes(run: PatchRun, { filterChains, defaultFilterChain }: Listener): void {
  for (const { filters } of [...filterChains, ...(defaultFilterChain ? [defaultFilterChain] : [])])
    for (const filter of filters) patchFilterRoutes(run, filter);
}

function patchFilterRoutes(run: PatchRun, filter: Filter): void {
  if (filter.name !== connectionManager || filter.configType.case !== "typedConfig") return;
  const manager = anyUnpack(filter.configType.value, HttpConnectionManagerSchema);
  if (manager?.routeSpecifier.case !== "routeConfig") return;
  patchRoutes(run, manager.routeSpecifier.value);
  filter.configType = { case: "typedConfig", value: anyPack(HttpConnectionManagerSchema, manager) };
}
