/** A list of filters or routes and one patch in; the list with a member added, replaced or removed out. */
import type { Operation } from "./patch.ts";

export interface Placement<T> {
  readonly operation: Operation;
  /** Tells the members that the patch names; undefined where it names none: "before" and "after" then mean the two ends. */
  readonly matches: ((item: T) => boolean) | undefined;
  /** The new member, made anew each time. */
  make(): T;
}

/** Changes the list in place; false where there was nothing to do. */
export function placeIn<T>(items: T[], { operation, matches, make }: Placement<T>): boolean {
  const at = matches && operation !== "REMOVE" ? items.findIndex(matches) : -1;
  switch (operation) {
    case "ADD":
      return insert(items, items.length, make);
    case "INSERT_FIRST":
      return insert(items, 0, make);
    case "INSERT_AFTER":
      return matches ? at >= 0 && insert(items, at + 1, make) : insert(items, items.length, make);
    case "INSERT_BEFORE":
      return matches ? at >= 0 && insert(items, at, make) : insert(items, 0, make);
    case "REPLACE":
      if (at >= 0) items[at] = make();
      return at >= 0;
    case "REMOVE":
      return matches !== undefined && remove(items, matches);
    default:
      return false;
  }
}

function insert<T>(items: T[], at: number, make: () => T): boolean {
  items.splice(at, 0, make());
  return true;
}

function remove<T>(items: T[], matches: (item: T) => boolean): boolean {
  const kept = items.filter((item) => !matches(item));
  const isAny = kept.length < items.length;
  kept.forEach((item, i) => {
    items[i] = item;
  });
  items.length = kept.length;
  return isAny;
}
