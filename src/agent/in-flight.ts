/** Something that is slow to read, by a word that says which of it, in; the same out, read once for all who ask meanwhile. */

type Read<T> = (which: string) => Promise<T>;

/** Each may be megabytes, and anybody may ask: undefined for one too many. What is asked for without a word always has its turn. */
export function createInFlight<T>(read: Read<T>, maxAtOnce: number): (which: string) => Promise<T> | undefined {
  const reading = new Map<string, Promise<T>>();
  return (which) => {
    const found = reading.get(which);
    if (found) return found;
    if (which !== "" && reading.size >= maxAtOnce) return undefined;
    const made = read(which).finally(() => reading.delete(which));
    reading.set(which, made);
    return made;
  };
}
