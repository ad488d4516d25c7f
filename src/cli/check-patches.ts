/** Objects in; what checks the patches of the EnvoyFilters among them out. Without any, Envoy's types are not loaded. */
import type { ValidateOptions } from "../config/index.ts";

export async function patchCheckerFor(
  objects: readonly { readonly kind?: unknown }[],
): Promise<Pick<ValidateOptions, "patches">> {
  if (!objects.some(({ kind }) => kind === "EnvoyFilter")) return {};
  const { loadPatchChecker } = await import("../render/index.ts");
  return { patches: await loadPatchChecker() };
}
