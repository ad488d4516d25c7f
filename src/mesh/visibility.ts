/** `exportTo` of an object in, the words by which namespaces find it out. */

export const everyone = "*";

/** `*` beats everything, `~` hides, `.` is the object's own namespace. */
export function exportWords(exportTo: readonly string[], namespace: string): readonly string[] {
  if (exportTo.includes(everyone)) return [everyone];
  if (exportTo.includes("~")) return [];
  return [...new Set(exportTo.map((word) => (word === "." ? namespace : word)))];
}

/** As written, or the mesh-wide default where nothing is. */
export function exportsOf(
  written: readonly string[] | undefined,
  fallback: readonly string[] | undefined,
): readonly string[] {
  return written !== undefined && written.length > 0 ? written : (fallback ?? [everyone]);
}
