/**
 * Structural equality of plain data; anything else (class instances, functions, bytes) is compared by identity. Maps and sets
 * with other orders differ: whoever goes through one sees its order, as where the first who wants a domain has it.
 */
export function sameData(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, i) => sameData(item, b[i]));
  }
  if (a instanceof Map) return b instanceof Map && sameInOrder(a, b);
  if (a instanceof Set) return b instanceof Set && sameInOrder(a, b);
  const prototype = Object.getPrototypeOf(a);
  if (prototype !== Object.getPrototypeOf(b) || (prototype !== Object.prototype && prototype !== null)) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && sameData(a[key as keyof typeof a], b[key as keyof typeof b]));
}

/** Of maps, the pairs. */
function sameInOrder(a: ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>, b: typeof a): boolean {
  if (a.size !== b.size) return false;
  const others = b[Symbol.iterator]();
  for (const item of a) if (!sameData(item, others.next().value)) return false;
  return true;
}
