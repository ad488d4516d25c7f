/** The types that patches may name in; which patches a proxy has, and what became of resources under them, out. */
import type { Cause } from "../../collections/index.ts";
import type { Resource } from "../../model/index.ts";
import type { AppliedPatch, View } from "../view.ts";
import type { EnvoyTypes } from "./envoy-types.ts";
import { type ApplyTo, type Patch, patchesFor, type PatchContext as Where } from "./patch.ts";
import { createPatchRun, type PatchReport, type PatchRun } from "./patch-run.ts";
import type { Patcher, PatchPlace } from "./patcher.ts";

export interface PatchOptions {
  readonly types: EnvoyTypes;
  /** Told once for each patch and outcome. */
  readonly report: (report: PatchReport) => void;
}

export interface PatchContext {
  /** Patches of the proxy on these objects; none until the types that they may name are loaded. */
  patches(view: View, applyTo: readonly ApplyTo[]): readonly Patch[];
  /** One resource under patches, worked out once for all who have both; undefined where it is to go. */
  patched(patcher: Patcher, view: View, patches: readonly Patch[], resource: Resource): Resource | undefined;
  /** What some of the patches make out of nothing; without `where`, wherever they say. */
  made(
    view: View,
    patches: { readonly all: readonly Patch[]; readonly meant: readonly Patch[] },
    where: Where | undefined,
    make: (run: PatchRun) => readonly Resource[],
  ): readonly Resource[];
}

interface Outcome {
  readonly resource: Resource | undefined;
  readonly notes: readonly AppliedPatch[];
  readonly reports: readonly PatchReport[];
}

export function createPatchContext({ types, report }: PatchOptions): PatchContext {
  // Resources and lists of patches never change: what follows from two of them is known as long as both are.
  const outcomes = new WeakMap<Resource, WeakMap<readonly Patch[], Map<string, Outcome>>>();
  const told = new WeakMap<readonly Patch[], Set<string>>();
  const tell = (patches: readonly Patch[], item: PatchReport): void => {
    const known = told.get(patches) ?? new Set();
    told.set(patches, known);
    const key = `${item.filter}|${item.field}|${item.problem ?? ""}`;
    if (known.has(key)) return;
    known.add(key);
    report(item);
  };

  const run = <T>(
    patches: readonly Patch[],
    place: Pick<PatchPlace, "ports"> & { readonly where: Where | undefined },
    work: (run: PatchRun) => T,
  ): { readonly value: T; readonly notes: readonly AppliedPatch[]; readonly reports: readonly PatchReport[] } => {
    const registry = types.current();
    if (!registry) throw new Error("the types that patches name are not loaded");
    const notes: AppliedPatch[] = [];
    const reports: PatchReport[] = [];
    const value = work(
      createPatchRun({
        ports: place.ports,
        context: place.where,
        patches,
        registry,
        types,
        report: (item) => reports.push(item),
        note: (cause) => notes.push(cause),
      }),
    );
    return { value, notes, reports };
  };

  const outcomeOf = (patcher: Patcher, patches: readonly Patch[], resource: Resource, place: PatchPlace): Outcome => {
    const byPatches = outcomes.get(resource) ?? new WeakMap<readonly Patch[], Map<string, Outcome>>();
    outcomes.set(resource, byPatches);
    const byPlace = byPatches.get(patches) ?? new Map<string, Outcome>();
    byPatches.set(patches, byPlace);
    const key = JSON.stringify(place);
    const known = byPlace.get(key);
    if (known) return known;
    const reaching = patches.filter((patch) => patcher.reaches(patch, place.where));
    // What no patch can reach is not even looked at.
    const untouched = { resource, notes: [], reports: [] };
    const made = reaching.length === 0 ? undefined : run(reaching, place, (one) => patcher.patch(one, resource, place));
    const outcome: Outcome = made
      ? { resource: sameAs(resource, made.value), notes: made.notes, reports: made.reports }
      : untouched;
    byPlace.set(key, outcome);
    return outcome;
  };

  return {
    patches(view, applyTo) {
      const found = patchesFor(view, applyTo);
      return found.length > 0 && types.current() ? found : [];
    },
    patched(patcher, view, patches, base) {
      const { resource, notes, reports } = outcomeOf(patcher, patches, base, patcher.place(view, base));
      for (const item of reports) tell(patches, item);
      if (resource && resource !== base)
        view.store.made(
          resource,
          (isPart) => {
            const { causes, missing } = view.store.provenance(base, isPart);
            return { causes: [...causesOf(notes), ...causes], missing };
          },
          notes,
        );
      return resource;
    },
    made(view, { all, meant }, where, make) {
      const { value, notes, reports } = run(meant, { where, ports: [] }, make);
      for (const item of reports) tell(all, item);
      for (const { object, field } of notes) view.mesh.graph.note(object, field);
      for (const resource of value) view.store.made(resource, () => ({ causes: causesOf(notes), missing: [] }), notes);
      return value;
    },
  };
}

/** The same bytes are the same resource: whoever has it shares it. */
function sameAs(before: Resource, now: Resource | undefined): Resource | undefined {
  return now && now.name === before.name && now.hash === before.hash ? before : now;
}

const causesOf = (notes: readonly AppliedPatch[]): readonly Cause[] =>
  notes.map(({ object, field }) => ({ object, field }));
