/** A change as it is kept, and how long its lines may be. */
import type { Change } from "../../../read-api/index.ts";

export const maxChanges = 1000;
const maxLineChars = 200;

/** What is found out of a change after it has come. */
export interface KeptChange extends Omit<Change, "proxies" | "touched" | "untold"> {
  proxies?: NonNullable<Change["proxies"]>;
  touched?: NonNullable<Change["touched"]>;
  untold?: number;
}

/** A text of its own: a part of a longer one would keep all of that. */
export function cut(line: string): string {
  const shown = line.length > maxLineChars ? `${line.slice(0, maxLineChars)}…` : line;
  return Buffer.from(shown.toWellFormed()).toString();
}
