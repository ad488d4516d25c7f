/** A network or HTTP filter and a patch for it in; the filter merged with the patch's configuration and name out. */
import type { Any } from "@bufbuild/protobuf/wkt";
import { mergeAny } from "./merge.ts";
import type { Outcome, PatchRun } from "./patch-run.ts";

/** What both sorts of filters have in common; a discovered configuration cannot be merged into. */
interface NamedFilter {
  name: string;
  configType: { case: "typedConfig"; value: Any } | { case: "configDiscovery"; value: unknown } | { case: undefined };
}

export function mergeFilter<F extends NamedFilter>(run: PatchRun, filter: F, patch: F | undefined): Outcome {
  if (filter.configType.case !== "typedConfig" || !patch) return false;
  if (patch.configType.case === "typedConfig") {
    const merged = mergeAny(run.registry, filter.configType.value, patch.configType.value);
    if ("error" in merged) return { error: `${filter.name}: ${merged.error}` };
    filter.configType = { case: "typedConfig", value: merged };
  }
  if (patch.name !== "") filter.name = patch.name;
  return true;
}
