/** The types that patches may name in; which patches a proxy has, and runs of them over resources, out. */
import type { View } from "../view.ts";
import type { EnvoyTypes } from "./envoy-types.ts";
import { type ApplyTo, type Patch, patchesFor, type PatchContext as Where } from "./patch.ts";
import { createPatchRun, type PatchReport, type PatchRun } from "./patch-run.ts";

export interface PatchOptions {
  readonly types: EnvoyTypes;
  /** Told once for each patch and outcome. */
  readonly report: (report: PatchReport) => void;
}

export interface PatchContext {
  /** Patches of the proxy on these objects; none until the types that they may name are loaded. */
  patches(view: View, applyTo: readonly ApplyTo[]): readonly Patch[];
  /** `where` is where the resource is; absent: patches of any context. */
  run(view: View, patches: readonly Patch[], where?: Where): PatchRun;
}

export function createPatchContext({ types, report }: PatchOptions): PatchContext {
  const told = new Set<string>();
  const reportOnce = (item: PatchReport): void => {
    const key = `${item.filter}|${item.field}|${item.problem ?? ""}`;
    if (told.has(key)) return;
    told.add(key);
    report(item);
  };
  return {
    patches(view, applyTo) {
      const found = patchesFor(view, applyTo);
      return found.length > 0 && types.current() ? found : [];
    },
    run(view, patches, context) {
      const registry = types.current();
      if (!registry) throw new Error("the types that patches name are not loaded");
      return createPatchRun({ view, patches, context, registry, types, report: reportOnce });
    },
  };
}
