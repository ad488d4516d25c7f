/**
 * A list or fields, and what is to be different in them, in; the value itself where nothing is, else a copy with it, out. Most
 * of a large object stays as it is, and each copy of that would be garbage a moment later.
 */
export type Fields = Readonly<Record<string, unknown>>;

export function changedItems<T>(items: readonly T[], change: (item: T, i: number) => T): readonly T[] {
  let out: T[] | undefined;
  items.forEach((item, i) => {
    const changed = change(item, i);
    if (Object.is(changed, item)) return;
    out ??= [...items];
    out[i] = changed;
  });
  return out ?? items;
}

/** `out` is what was made of the fields so far: they themselves, or a copy of our own. */
export function withField(fields: Fields, out: Fields, name: string, value: unknown): Fields {
  if (Object.hasOwn(fields, name) && Object.is(fields[name], value)) return out;
  const own = out === fields ? { ...fields } : out;
  // By definition where assignment would not be one: `__proto__` is a name like any other.
  return Object.defineProperty(own, name, { value, writable: true, enumerable: true, configurable: true });
}

export function withoutField(fields: Fields, out: Fields, name: string): Fields {
  if (!Object.hasOwn(out, name)) return out;
  const own: Record<string, unknown> = out === fields ? { ...fields } : out;
  delete own[name];
  return own;
}
