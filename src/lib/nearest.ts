/** A word that is not known and those that are in; the one that was most likely meant out. */

/** Undefined where none is near: more than a third of the letters would have to change. */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  let best: { readonly word: string; readonly distance: number } | undefined;
  const asked = word.toLowerCase();
  for (const candidate of known) {
    const most = Math.max(2, candidate.length / 3);
    // Each letter more or less is a change: a word of a megabyte is near to nothing, and need not be looked at for that.
    if (Math.abs(asked.length - candidate.length) > most) continue;
    const distance = changes(asked, candidate.toLowerCase());
    if (distance <= most && (!best || distance < best.distance)) best = { word: candidate, distance };
  }
  return best?.word;
}

/** Letters to add, drop or change, and neighbours to swap. */
function changes(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      next[j] = Math.min(
        (row[j] ?? 0) + 1,
        (next[j - 1] ?? 0) + 1,
        (row[j - 1] ?? 0) + same,
        swapped ? (before[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    [before, row] = [row, next];
  }
  return row[b.length] ?? 0;
}
