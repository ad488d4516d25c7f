/** What is kept in the order of its coming in; no more than `most` of it left, the newest, out. */
export function dropOldest<K>(
  kept: { readonly size: number; keys(): Iterable<K>; delete(key: K): unknown },
  most: number,
): void {
  if (kept.size <= most) return;
  for (const key of kept.keys()) {
    kept.delete(key);
    if (kept.size <= most) return;
  }
}
