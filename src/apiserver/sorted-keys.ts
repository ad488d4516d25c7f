/** Keys that come and go in, the same in order out; a change costs no sorting. */
export interface SortedKeys {
  readonly keys: readonly string[];
  add(key: string): void;
  remove(key: string): void;
}

export function createSortedKeys(): SortedKeys {
  const keys: string[] = [];
  const place = (key: string): number => {
    let [low, high] = [0, keys.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((keys[middle] ?? "") < key) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return {
    keys,
    add(key) {
      const at = place(key);
      if (keys[at] !== key) keys.splice(at, 0, key);
    },
    remove(key) {
      const at = place(key);
      if (keys[at] === key) keys.splice(at, 1);
    },
  };
}
