/** A list of filters or routes and one patch in; the list with a member added, replaced or removed out. */
import type { Operation } from "./patch.ts";

export interface Placement<T> {
  readonly operation: Operation;
  /** Whether the patch names a member; without one, "before" and "after" mean the two ends. */
  readonly named: boolean;
  matches(item: T): boolean;
  /** The new member, made anew each time. */
  make(): T;
}

/** Changes the list in place; false where there was nothing to do. */
export function placeIn<T>(items: T[], { operation, named, matches, make }: Placement<T>): boolean {
  const at = named ? items.findIndex((item) => matches(item)) : -1;
  switch (operation) {
    case "ADD":
      return insert(items, items.length, make);
    case "INSERT_FIRST":
      return insert(items, 0, make);
    case "INSERT_AFTER":
      if (!named) return insert(items, items.length, make);
      return at >= 0 && insert(items, at + 1, make);
    case "INSERT_BEFORE":
      if (!named) return insert(items, 0, make);
      return at >= 0 && insert(items, at, make);
    case "REPLACE":
      if (at >= 0) items[at] = make();
      return at >= 0;
    case "REMOVE":
      return named && removeFrom(items, matches);
    default:
      return false;
  }
}

function insert<T>(items: T[], at: number, make: () => T): boolean {
  items.splice(at, 0, make());
  return true;
}

export function removeFrom<T>(items: T[], matches: (item: T) => boolean): boolean {
  const kept = items.filter((item) => !matches(item));
  const isAny = kept.length < items.length;
  items.splice(0, items.length, ...kept);
  return isAny;
}
