/** EnvoyFilters whose operation does nothing where it stands, or depends on what other filters are there. */
import { isRecord } from "../../lib/index.ts";
import { type EnvoyFilterEnvoyConfigObjectPatch, envoyFilter } from "../../model/index.ts";
import type { Analyser } from "./analyser.ts";

const ignored = "operation will be ignored when applyTo is set to ROUTE_CONFIGURATION, or HTTP_ROUTE.";
const relative =
  "This EnvoyFilter does not have a priority and has a relative patch operation set which can cause the EnvoyFilter not to be applied. Using the INSERT_FIRST of ADD option or setting the priority may help in ensuring the EnvoyFilter is applied correctly.";
const relativeWithVersion =
  "This EnvoyFilter does not have a priority and has a relative patch operation (NSTERT_BEFORE/AFTER, REPLACE, MERGE, DELETE) and proxyVersion set which can cause the EnvoyFilter not to be applied during an upgrade. Using the INSERT_FIRST or ADD option or setting the priority may help in ensuring the EnvoyFilter is applied correctly.";

export const envoyPatches: Analyser = {
  name: "envoyfilter.EnvoyPatchAnalyzer",
  needsCluster: false,
  run({ objects, report }) {
    /** Filters that a patch before named together with a proxy version. */
    const versioned = new Set<string>();
    for (const object of objects.of(envoyFilter))
      for (const [i, patch] of (object.spec.configPatches ?? []).entries()) {
        if (!patch.patch) break;
        const filter = filterName(patch);
        const found = problemOf(patch);
        const path = `spec.configPatches[${i}].patch.value`;
        if (found === "relative") {
          if (!object.spec.priority)
            report(
              object,
              versioned.has(filter) ? "IST0155" : "IST0151",
              versioned.has(filter) ? relativeWithVersion : relative,
              path,
            );
        } else if (found) report(object, found.code, found.message, path);
        if (patch.match?.proxy?.proxyVersion) versioned.add(filter);
      }
  },
};

function problemOf({
  applyTo,
  patch,
}: EnvoyFilterEnvoyConfigObjectPatch): { readonly code: string; readonly message: string } | "relative" | undefined {
  const onRoutes = applyTo === "ROUTE_CONFIGURATION" || applyTo === "HTTP_ROUTE";
  switch (patch?.operation) {
    case "ADD":
      return onRoutes ? { code: "IST0153", message: `The ADD ${ignored}` } : undefined;
    case "REMOVE":
      return onRoutes ? { code: "IST0154", message: `The REMOVE ${ignored}` } : "relative";
    case "REPLACE":
      return applyTo === "NETWORK_FILTER" || applyTo === "HTTP_FILTER" || applyTo === "VIRTUAL_HOST"
        ? "relative"
        : { code: "IST0152", message: "The REPLACE operation is only valid for HTTP_FILTER and NETWORK_FILTER." };
    case "INSERT_BEFORE":
    case "INSERT_AFTER":
      return "relative";
    default:
      return undefined;
  }
}

function filterName({ patch, match }: EnvoyFilterEnvoyConfigObjectPatch): string {
  const value = patch?.value;
  if (!isRecord(value) || Object.keys(value).length === 0) return "";
  if (value.name !== undefined) return JSON.stringify(value.name);
  return match?.listener?.filterChain?.filter?.name ?? "";
}
