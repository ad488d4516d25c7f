/** Items and a question in; the items in the order that istioctl prints, out. */

/** Up to this many items Go sorts by insertion. */
const fewItems = 12;

/**
 * `less` may contradict itself (route names of which only some are numbers): then the order follows from the way of
 * sorting, which is Go's insertion for few items. More items are put in a stable order.
 */
export function sortByLess<T>(items: readonly T[], less: (a: T, b: T) => boolean): readonly T[] {
  const sorted = [...items];
  if (sorted.length > fewItems) return sorted.sort((a, b) => (less(a, b) ? -1 : less(b, a) ? 1 : 0));
  for (let end = 1; end < sorted.length; end++) {
    const item = sorted[end] as T;
    let at = end;
    for (; at > 0 && less(item, sorted[at - 1] as T); at--) sorted[at] = sorted[at - 1] as T;
    sorted[at] = item;
  }
  return sorted;
}

/** Compares by the first key that differs. */
export function lessBy<T>(...keys: readonly ((item: T) => string | number)[]): (a: T, b: T) => boolean {
  return (a, b) => {
    for (const key of keys) {
      const [x, y] = [key(a), key(b)];
      if (x !== y) return x < y;
    }
    return false;
  };
}
