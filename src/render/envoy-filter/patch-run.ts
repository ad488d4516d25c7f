/** The patches for one resource in; those that a given kind of object has, decoded, out; and what became of each. */
import type { DescMessage, MessageShape, Registry } from "@bufbuild/protobuf";
import type { AppliedPatch } from "../view.ts";
import type { EnvoyTypes } from "./envoy-types.ts";
import type { ApplyTo, Patch, PatchContext } from "./patch.ts";

/** One patch was put to use somewhere, or could not be. */
export interface PatchReport {
  /** `namespace/name` of the EnvoyFilter. */
  readonly filter: string;
  /** `spec.configPatches[N]`. */
  readonly field: string;
  /** What istiod's metric calls the patched object. */
  readonly kind: string;
  /** Why it was skipped; undefined where it was applied. */
  readonly problem: string | undefined;
  /** Fields of its value that no known type has: they are left out, the rest is applied. */
  readonly leftOut: readonly string[];
}

/** A patch with its value: never to be changed, only copied. */
export interface ReadyPatch<Desc extends DescMessage> {
  readonly patch: Patch;
  /** Absent only where it is removed. */
  readonly value: MessageShape<Desc> | undefined;
  readonly leftOut: readonly string[];
}

export interface PatchRun {
  readonly registry: Registry;
  /** Undefined where any will do. */
  readonly context: PatchContext | undefined;
  /** Of a gateway's route configuration: the ports that its Gateways name. */
  readonly ports: readonly number[];
  /** Those of the context that can be used, in order. */
  of<Desc extends DescMessage>(applyTo: ApplyTo, schema: Desc): readonly ReadyPatch<Desc>[];
  /** Does the work; a patch that cannot do it is skipped, and told. `work` says whether it did anything. */
  apply(ready: ReadyPatch<DescMessage>, work: () => Outcome): void;
}

/** Whether anything was done, or why it cannot be. */
export type Outcome = boolean | { readonly error: string };

export interface RunOptions {
  readonly ports: readonly number[];
  readonly registry: Registry;
  readonly types: EnvoyTypes;
  readonly context: PatchContext | undefined;
  readonly patches: readonly Patch[];
  readonly report: (report: PatchReport) => void;
  /** Told of each patch that did something. */
  readonly note: (patch: AppliedPatch) => void;
}

export function createPatchRun({ ports, registry, types, context, patches, report, note }: RunOptions): PatchRun {
  const own = patches.filter((patch) => !context || patch.context === "ANY" || patch.context === context);
  const tell = (patch: Patch, problem: string | undefined, leftOut: readonly string[] = []): void =>
    report({ filter: patch.filter, field: fieldOf(patch), kind: reportKinds[patch.applyTo], problem, leftOut });
  const ready = new Map<ApplyTo, readonly ReadyPatch<DescMessage>[]>();
  const done = new Set<Patch>();
  const decode = (applyTo: ApplyTo, schema: DescMessage): readonly ReadyPatch<DescMessage>[] =>
    own.flatMap((patch): ReadyPatch<DescMessage>[] => {
      if (patch.applyTo !== applyTo) return [];
      const value = patch.value && types.decode(registry, schema, patch.value);
      const problem = patch.problem ?? (value && "error" in value ? value.error : undefined);
      if (problem !== undefined) tell(patch, problem);
      if (problem !== undefined || (value && "error" in value)) return [];
      return [{ patch, value: value?.message, leftOut: value?.leftOut ?? [] }];
    });
  return {
    registry,
    context,
    ports,
    of<Desc extends DescMessage>(applyTo: ApplyTo, schema: Desc) {
      const found = ready.get(applyTo) ?? decode(applyTo, schema);
      ready.set(applyTo, found);
      // An applyTo stands for one type.
      return found as readonly ReadyPatch<Desc>[];
    },
    apply({ patch, leftOut }, work) {
      const outcome = attempt(work);
      if (outcome === false) return;
      if (outcome !== true) return tell(patch, outcome.error);
      if (done.has(patch)) return;
      done.add(patch);
      note({ object: `EnvoyFilter/${patch.filter}`, field: fieldOf(patch), patch });
      tell(patch, undefined, leftOut);
    },
  };
}

function attempt(work: () => Outcome): Outcome {
  try {
    return work();
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

const fieldOf = ({ index }: Patch): string => `spec.configPatches[${index}]`;

const reportKinds: Readonly<Record<ApplyTo, string>> = {
  LISTENER: "listener",
  FILTER_CHAIN: "filterchain",
  LISTENER_FILTER: "listenerfilter",
  NETWORK_FILTER: "networkfilter",
  HTTP_FILTER: "httpfilter",
  ROUTE_CONFIGURATION: "route",
  VIRTUAL_HOST: "vhost",
  HTTP_ROUTE: "route",
  CLUSTER: "cluster",
  EXTENSION_CONFIG: "extensionconfig",
};

/** The value to be put into a resource. Its fields may be set; what they hold is shared and must not be changed. */
export function valueOf<Desc extends DescMessage>({ value }: ReadyPatch<Desc>): MessageShape<Desc> {
  if (value === undefined) throw new Error("a value is needed");
  return { ...value };
}
