/** EnvoyFilters in; the patches that are for one proxy, in the order in which they apply, out. */
import { compareText, compilePattern, isRecord } from "../../lib/index.ts";
import {
  type Config,
  type EnvoyFilterEnvoyConfigObjectMatch,
  type EnvoyFilterEnvoyConfigObjectPatch,
  type EnvoyFilterPatch,
  type EnvoyFilterSpec,
  objectKey,
  type ProxyClass,
} from "../../model/index.ts";
import { type FacetKind, facet } from "../facet.ts";
import { recipe } from "../recipe.ts";
import type { View } from "../view.ts";

export type ApplyTo = Exclude<NonNullable<EnvoyFilterEnvoyConfigObjectPatch["applyTo"]>, "INVALID" | "BOOTSTRAP">;
export type Operation = NonNullable<EnvoyFilterPatch["operation"]>;
export type PatchContext = "SIDECAR_INBOUND" | "SIDECAR_OUTBOUND" | "GATEWAY";

/** Plain data, so that a change which leaves a proxy's patches as they were reaches none of its resources. */
export interface Patch {
  /** `namespace/name` of the EnvoyFilter. */
  readonly filter: string;
  /** In `spec.configPatches`. */
  readonly index: number;
  readonly applyTo: ApplyTo;
  readonly operation: Operation;
  readonly context: PatchContext | "ANY";
  readonly match: EnvoyFilterEnvoyConfigObjectMatch;
  readonly value: object | undefined;
  /** Why it can do nothing, wherever it would match. */
  readonly problem: string | undefined;
}

const inserts: readonly Operation[] = ["INSERT_BEFORE", "INSERT_AFTER", "INSERT_FIRST"];
const merges: readonly Operation[] = ["MERGE", "MERGE_AND_REPLACE_LIST"];
const filterOperations: readonly Operation[] = ["ADD", "REMOVE", "REPLACE", "MERGE", ...inserts];

/** What each kind of object can be patched with; anything else is without effect. */
const operations: Readonly<Record<ApplyTo, readonly Operation[]>> = {
  LISTENER: ["ADD", "REMOVE", ...merges],
  FILTER_CHAIN: ["ADD", "REMOVE", ...merges],
  LISTENER_FILTER: filterOperations,
  NETWORK_FILTER: filterOperations,
  HTTP_FILTER: filterOperations,
  ROUTE_CONFIGURATION: merges,
  VIRTUAL_HOST: ["ADD", "REMOVE", "REPLACE", ...merges],
  HTTP_ROUTE: ["ADD", "REMOVE", ...inserts, ...merges],
  CLUSTER: ["ADD", "REMOVE", ...merges],
  EXTENSION_CONFIG: ["ADD"],
};

export const isMerge = (operation: Operation): boolean => merges.includes(operation);

type PatchFacet = Pick<ProxyClass, "envoyFilters" | "istioVersion" | "matchedMetadata">;

const patchFacet: FacetKind<PatchFacet> = facet([], ["envoyFilters", "istioVersion", "matchedMetadata"]);

/** Patches that concern resources of one kind; the same list for all proxies that have the same. */
export function patchesFor(view: View<PatchFacet>, applyTo: readonly ApplyTo[]): readonly Patch[] {
  return view.proxy.envoyFilters.length === 0 ? none : patchesOn(view, applyTo.join());
}

const none: readonly Patch[] = [];

const patchesOn = recipe(patchFacet, "patches of a kind", (view, applyTo): readonly Patch[] => {
  const wanted = new Set(applyTo.split(","));
  return allPatches(view).filter((patch) => wanted.has(patch.applyTo));
});

const allPatches = recipe(patchFacet, "patches", ({ mesh, proxy }): readonly Patch[] => {
  const root = mesh.settings().rootNamespace ?? "";
  return proxy.envoyFilters
    .flatMap((key) => mesh.envoyFilter(key) ?? [])
    .sort((a, b) => compareFilters(a, b, root))
    .flatMap((config) =>
      (config.spec.configPatches ?? []).flatMap((patch, index) => readPatch(proxy, config, patch, index) ?? []),
    );
});

/** Lowest priority first, then the root namespace, then by age; names count with their namespace behind a dot. */
function compareFilters(a: Config<EnvoyFilterSpec>, b: Config<EnvoyFilterSpec>, root: string): number {
  const rank = ({ meta }: Config<EnvoyFilterSpec>): number => (meta.namespace === root ? 0 : 1);
  const name = ({ meta }: Config<EnvoyFilterSpec>): string => `${meta.name}.${meta.namespace}`;
  return (
    (a.spec.priority ?? 0) - (b.spec.priority ?? 0) ||
    rank(a) - rank(b) ||
    compareText(a.meta.creationTimestamp ?? "", b.meta.creationTimestamp ?? "") ||
    compareText(name(a), name(b))
  );
}

function readPatch(
  proxy: PatchFacet,
  { meta }: Config<EnvoyFilterSpec>,
  { applyTo = "INVALID", match = {}, patch }: EnvoyFilterEnvoyConfigObjectPatch,
  index: number,
): Patch | undefined {
  const { context = "ANY" } = match;
  // The bootstrap is the agent's; waypoints are not served.
  if (applyTo === "INVALID" || applyTo === "BOOTSTRAP" || !patch || context === "WAYPOINT") return undefined;
  const version = matchesProxy(proxy, match);
  if (version === false) return undefined;
  const operation = effectiveOperation(applyTo, patch.operation ?? "INVALID");
  const value = isRecord(patch.value) ? patch.value : undefined;
  const problem = version === true ? problemOf(applyTo, operation, value) : version.error;
  return { filter: objectKey(meta), index, applyTo, operation, context, match, value, problem };
}

/** Only where order has a meaning is there something to insert before. */
function effectiveOperation(applyTo: ApplyTo, operation: Operation): Operation {
  return inserts.includes(operation) && !operations[applyTo].includes("INSERT_FIRST") ? "ADD" : operation;
}

function problemOf(applyTo: ApplyTo, operation: Operation, value: object | undefined): string | undefined {
  if (!operations[applyTo].includes(operation)) return `${operation} has no effect on ${applyTo}`;
  return operation !== "REMOVE" && value === undefined ? `${operation} needs a value` : undefined;
}

function matchesProxy(
  proxy: PatchFacet,
  { proxy: match = {} }: EnvoyFilterEnvoyConfigObjectMatch,
): boolean | { readonly error: string } {
  const { proxyVersion = "", metadata = {} } = match;
  if (proxyVersion !== "") {
    const pattern = compilePattern(proxyVersion);
    if ("error" in pattern) return { error: `match.proxy.proxyVersion: ${pattern.error}` };
    if (proxy.istioVersion === "" || !pattern.find(proxy.istioVersion)) return false;
  }
  return Object.entries(metadata).every(
    ([key, value]) => Object.hasOwn(proxy.matchedMetadata, key) && proxy.matchedMetadata[key] === value,
  );
}
