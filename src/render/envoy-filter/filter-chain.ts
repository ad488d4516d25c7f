/** A listener in; the same with the patches on its filter chains and their network filters out. */
import {
  type FilterChain,
  FilterChainSchema,
  FilterSchema,
} from "../../gen/envoy/config/listener/v3/listener_components_pb.js";
import type { Listener } from "../../gen/envoy/config/listener/v3/listener_pb.js";
import { patchHttpFilters } from "./http-filter.ts";
import { byName, isNamed, matchesChain, matchesListener, networkFilterOf } from "./match-listener.ts";
import { mergeAny, mergeInto } from "./merge.ts";
import { mergeFilter } from "./merge-filter.ts";
import { isMerge } from "./patch.ts";
import { type Outcome, type PatchRun, type ReadyPatch, valueOf } from "./patch-run.ts";
import { placeIn } from "./place.ts";

type ChainPatch = ReadyPatch<typeof FilterChainSchema>;
type FilterPatch = ReadyPatch<typeof FilterSchema>;

export function patchFilterChains(run: PatchRun, listener: Listener): void {
  const chains = run.of("FILTER_CHAIN", FilterChainSchema).filter(({ patch }) => matchesListener(patch, listener));
  const filters = run.of("NETWORK_FILTER", FilterSchema).filter(({ patch }) => matchesListener(patch, listener));
  const keeps = (chain: FilterChain): boolean => {
    // A chain without filters is none.
    if (chain.filters.length === 0 || !patchChain(run, listener, chain, chains)) return false;
    patchNetworkFilters(run, listener, chain, filters);
    return true;
  };
  listener.filterChains = listener.filterChains.filter(keeps);
  const { defaultFilterChain } = listener;
  if (defaultFilterChain && defaultFilterChain.filters.length > 0 && !keeps(defaultFilterChain))
    delete listener.defaultFilterChain;
  for (const ready of chains.filter(({ patch }) => patch.operation === "ADD"))
    run.apply(ready, () => {
      const chain = valueOf(ready);
      if (chain.filters.length === 0) return { error: "a filter chain needs filters" };
      listener.filterChains.push(chain);
      return true;
    });
}

/** False where the chain is to go. */
function patchChain(run: PatchRun, listener: Listener, chain: FilterChain, patches: readonly ChainPatch[]): boolean {
  for (const ready of patches) {
    const { patch } = ready;
    if (!matchesChain(patch, listener, chain)) continue;
    if (patch.operation === "REMOVE") {
      run.apply(ready, () => true);
      return false;
    }
    if (isMerge(patch.operation)) run.apply(ready, () => mergeChain(run, chain, ready));
  }
  return true;
}

/** A transport socket of the same name merges as what it is; then nothing else of the patch counts. */
function mergeChain(run: PatchRun, chain: FilterChain, { patch, value }: ChainPatch): Outcome {
  if (!value) return false;
  const [own, wanted] = [chain.transportSocket, value.transportSocket];
  if (!own || !wanted || own.name !== wanted.name) {
    mergeInto(FilterChainSchema, chain, value, patch.operation === "MERGE" ? "append" : "replace");
    return true;
  }
  if (own.configType.case !== "typedConfig" || wanted.configType.case !== "typedConfig") return false;
  const merged = mergeAny(run.registry, own.configType.value, wanted.configType.value);
  if ("error" in merged) return merged;
  own.configType = { case: "typedConfig", value: merged };
  return true;
}

function patchNetworkFilters(
  run: PatchRun,
  listener: Listener,
  chain: FilterChain,
  patches: readonly FilterPatch[],
): void {
  const own = patches.filter(({ patch }) => matchesChain(patch, listener, chain));
  for (const ready of own) {
    const { patch } = ready;
    if (patch.operation === "MERGE") continue;
    run.apply(ready, () =>
      placeIn(chain.filters, {
        operation: patch.operation,
        matches: byName(networkFilterOf(patch)),
        make: () => valueOf(ready),
      }),
    );
  }
  // What was just added is merged into as well.
  const merges = own.filter(({ patch }) => patch.operation === "MERGE");
  for (const filter of chain.filters) {
    for (const ready of merges)
      if (isNamed(networkFilterOf(ready.patch), filter)) run.apply(ready, () => mergeFilter(run, filter, ready.value));
    patchHttpFilters(run, listener, chain, filter);
  }
}
