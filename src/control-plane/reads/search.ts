/** What a proxy is sent, and words, in; the lines that have them, with the resource of each, out. Bounded, in short turns. */
import { createRest } from "../../lib/index.ts";
import type { FoundLine, FoundLines } from "../../read-api/index.ts";

/** Of one type, by its short name. */
export interface Searched {
  readonly type: string;
  readonly names: readonly string[];
  show(name: string): object | undefined;
}

const [leastChars, mostChars] = [2, 200];
/** Of one resource, and of all. */
const [maxOfOne, maxLines] = [3, 200];
const maxLineChars = 300;
const maxBytes = 64 * 1024 * 1024;

export async function searchResources(
  types: readonly Searched[],
  words: string,
  isSeen: (type: string, name: string) => Promise<boolean> = async () => true,
): Promise<FoundLines> {
  const wanted = words.trim().toLowerCase().slice(0, mostChars);
  const lines: FoundLine[] = [];
  let [resources, bytes, isWhole] = [0, 0, true];
  if (wanted.length < leastChars) return { lines, resources, isWhole };
  const rest = createRest();
  for (const { type, names, show } of types)
    for (const name of names) {
      if (lines.length >= maxLines || bytes >= maxBytes) {
        isWhole = false;
        return { lines, resources, isWhole };
      }
      const text = JSON.stringify(show(name), null, 1) ?? "";
      bytes += text.length;
      const found = matching(text, wanted);
      // Here, and not of what was found: what is hidden must take no room from what is not.
      if (found.length > 0 && (await isSeen(type, name))) {
        resources++;
        lines.push(...found.map((line) => ({ type, name, line })));
      }
      await rest();
    }
  return { lines, resources, isWhole };
}

function matching(text: string, wanted: string): readonly string[] {
  // Most have none: one look at all of it is cheaper than one at each line.
  if (!text.toLowerCase().includes(wanted)) return [];
  return text
    .split("\n")
    .filter((line) => line.toLowerCase().includes(wanted))
    .slice(0, maxOfOne)
    .map((line) => line.trim().slice(0, maxLineChars));
}
