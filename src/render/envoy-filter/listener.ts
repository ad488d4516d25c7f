/** A listener in; the same with the patches on it, its listener filters and its chains out. */
import type { ListenerFilter } from "../../gen/envoy/config/listener/v3/listener_components_pb.js";
import { ListenerFilterSchema } from "../../gen/envoy/config/listener/v3/listener_components_pb.js";
import { type Listener, ListenerSchema } from "../../gen/envoy/config/listener/v3/listener_pb.js";
import { patchFilterChains } from "./filter-chain.ts";
import { byName, listenerFilterOf, matchesListener } from "./match-listener.ts";
import { mergeAny, mergeInto } from "./merge.ts";
import { isMerge } from "./patch.ts";
import { type Outcome, type PatchRun, type ReadyPatch, valueOf } from "./patch-run.ts";
import { placeIn } from "./place.ts";

/** Changes the listener in place; false where it is to go. */
export function patchListener(run: PatchRun, listener: Listener): boolean {
  for (const ready of run.of("LISTENER", ListenerSchema)) {
    const { patch, value } = ready;
    if (patch.operation === "ADD" || !matchesListener(patch, listener)) continue;
    if (patch.operation === "REMOVE") {
      run.apply(ready, () => true);
      return false;
    }
    run.apply(ready, () => {
      const lists = patch.operation === "MERGE" ? "append" : "replace";
      if (value) mergeInto(ListenerSchema, listener, value, lists);
      return isMerge(patch.operation);
    });
  }
  patchListenerFilters(run, listener);
  patchFilterChains(run, listener);
  return true;
}

function patchListenerFilters(run: PatchRun, listener: Listener): void {
  for (const ready of run.of("LISTENER_FILTER", ListenerFilterSchema)) {
    const { patch } = ready;
    if (!matchesListener(patch, listener)) continue;
    run.apply(ready, () =>
      patch.operation === "MERGE"
        ? mergeListenerFilters(run, listener.listenerFilters, ready)
        : placeIn(listener.listenerFilters, {
            operation: patch.operation,
            matches: byName(listenerFilterOf(patch)),
            make: () => valueOf(ready),
          }),
    );
  }
}

/**
 * istiod merges into every listener filter, whichever the patch names, and gives up at the first of another type. So this
 * works only where all that come before have the same type; a name never changes.
 */
function mergeListenerFilters(
  run: PatchRun,
  filters: readonly ListenerFilter[],
  { patch, value }: ReadyPatch<typeof ListenerFilterSchema>,
): Outcome {
  if (listenerFilterOf(patch) === undefined || value?.configType.case !== "typedConfig") return false;
  let isAny = false;
  for (const filter of filters) {
    if (filter.configType.case !== "typedConfig") continue;
    const merged = mergeAny(run.registry, filter.configType.value, value.configType.value);
    if ("error" in merged) return { error: `${filter.name}: ${merged.error}` };
    filter.configType = { case: "typedConfig", value: merged };
    isAny = true;
  }
  return isAny;
}

/** Listeners that are added where a proxy's own of this context are. */
export function addedListeners(run: PatchRun): readonly Listener[] {
  return run.of("LISTENER", ListenerSchema).flatMap((ready) => {
    const { patch } = ready;
    if (patch.operation !== "ADD" || (patch.context === "ANY" && run.context === "SIDECAR_INBOUND")) return [];
    run.apply(ready, () => true);
    return [valueOf(ready)];
  });
}
