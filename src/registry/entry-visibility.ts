/** MeshConfig's `serviceEntryVisibility` and a namespace's labels in; how far ServiceEntries of it may be seen out. */
import { type MeshConfigSpec, matchesSelector } from "../model/index.ts";

/** As declared, or narrowed by the mesh's owner: to the namespace itself, or to nobody. Nothing is ever widened. */
export function capExports(
  declared: readonly string[],
  namespace: string,
  labels: Readonly<Record<string, string>>,
  settings: MeshConfigSpec,
): readonly string[] {
  const visibility = visibilityFor(labels, settings);
  if (visibility === "NONE") return ["~"];
  if (visibility !== "NAMESPACE") return declared;
  return declared.some((word) => word === "*" || word === "." || word === namespace) ? ["."] : ["~"];
}

/** The first policy whose rules all match; a rule without a selector never does. */
function visibilityFor(labels: Readonly<Record<string, string>>, { serviceEntryVisibility }: MeshConfigSpec): string {
  if (!serviceEntryVisibility?.applyToSidecars) return "PUBLIC";
  const found = (serviceEntryVisibility.policies ?? []).find(({ matchingRules = [] }) =>
    matchingRules.every(({ namespaceSelector }) => namespaceSelector && matchesSelector(namespaceSelector, labels)),
  );
  return found?.visibility ?? serviceEntryVisibility.defaultVisibility ?? "PUBLIC";
}
