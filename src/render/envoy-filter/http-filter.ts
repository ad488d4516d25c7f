/** A network filter in; where it is an HTTP connection manager, the same with the patches on its HTTP filters, out. */
import { anyPack, anyUnpack } from "@bufbuild/protobuf/wkt";
import type { Filter, FilterChain } from "../../gen/envoy/config/listener/v3/listener_components_pb.js";
import type { Listener } from "../../gen/envoy/config/listener/v3/listener_pb.js";
import {
  HttpConnectionManagerSchema,
  type HttpFilter,
  HttpFilterSchema,
} from "../../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import { byName, httpFilterOf, isNamed, matchesChain, matchesListener, networkFilterOf } from "./match-listener.ts";
import { mergeFilter } from "./merge-filter.ts";
import { type PatchRun, type ReadyPatch, valueOf } from "./patch-run.ts";
import { placeIn } from "./place.ts";

export const connectionManager = "envoy.filters.network.http_connection_manager";

type HttpFilterPatch = ReadyPatch<typeof HttpFilterSchema>;

export function patchHttpFilters(run: PatchRun, listener: Listener, chain: FilterChain, filter: Filter): void {
  if (filter.name !== connectionManager || filter.configType.case !== "typedConfig") return;
  const patches = run
    .of("HTTP_FILTER", HttpFilterSchema)
    .filter(
      ({ patch }) =>
        matchesListener(patch, listener) &&
        matchesChain(patch, listener, chain) &&
        isNamed(networkFilterOf(patch), filter),
    );
  if (patches.length === 0) return;
  const manager = anyUnpack(filter.configType.value, HttpConnectionManagerSchema);
  if (!manager) return;
  placeHttpFilters(run, manager.httpFilters, patches);
  const merges = patches.filter(({ patch }) => patch.operation === "MERGE");
  for (const httpFilter of manager.httpFilters)
    for (const ready of merges)
      if (isNamed(httpFilterOf(ready.patch), httpFilter))
        run.apply(ready, () => mergeFilter(run, httpFilter, ready.value));
  filter.configType = { case: "typedConfig", value: anyPack(HttpConnectionManagerSchema, manager) };
}

function placeHttpFilters(run: PatchRun, filters: HttpFilter[], patches: readonly HttpFilterPatch[]): void {
  for (const ready of patches) {
    const { patch } = ready;
    if (patch.operation === "MERGE") continue;
    run.apply(ready, () =>
      placeIn(filters, {
        operation: patch.operation,
        matches: byName(httpFilterOf(patch)),
        make: () => valueOf(ready),
      }),
    );
  }
}
