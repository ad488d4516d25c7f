/** Text that is no JSON in; the first token that should not be there, and what should, out. */

const tokenPattern =
  /\s*(?:([{}[\],:])|("(?:[^"\\]|\\.)*")|((?:-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null)(?![-+.\w])))/sy;

type Wanted = "value" | "value-or-end" | "key" | "key-or-end" | "colon" | "comma-or-end" | "nothing";

export interface JsonMistake {
  /** The text's length where it was cut short. */
  readonly position: number;
  /** What Go's encoding/json says of such a character. */
  readonly where: string;
}

export function findJsonMistake(text: string): JsonMistake {
  const open: string[] = [];
  let wanted: Wanted = "value";
  let position = 0;
  for (;;) {
    tokenPattern.lastIndex = position;
    const match = tokenPattern.exec(text);
    const start = position + (/^\s*/.exec(text.slice(position))?.[0].length ?? 0);
    const mistake = { position: start, where: describeWanted(wanted, open) };
    if (start >= text.length) return mistake;
    // A string without an end is a text that was cut short.
    if (!match) return text[start] === '"' ? { ...mistake, position: text.length } : mistake;
    const next = follow(wanted, (match[1] ?? match[2] ?? match[3] ?? "")[0] ?? "", open);
    if (!next) return mistake;
    wanted = next;
    position = tokenPattern.lastIndex;
  }
}

function describeWanted(wanted: Wanted, open: readonly string[]): string {
  if (wanted === "nothing") return "after top-level value";
  if (wanted === "colon") return "after object key";
  if (wanted === "key" || wanted === "key-or-end") return "looking for beginning of object key string";
  if (wanted === "comma-or-end") return open.at(-1) === "{" ? "after object key:value pair" : "after array element";
  return "looking for beginning of value";
}

/** What may come after a token, by its first character; undefined where that token may not stand there. */
function follow(wanted: Wanted, token: string, open: string[]): Wanted | undefined {
  const inside = (): Wanted => (open.length === 0 ? "nothing" : "comma-or-end");
  if (token === "," && wanted === "comma-or-end") return open.at(-1) === "{" ? "key" : "value";
  if (token === ":" && wanted === "colon") return "value";
  if (token === "}" || token === "]") {
    const mayEnd = wanted === "comma-or-end" || wanted === (token === "}" ? "key-or-end" : "value-or-end");
    if (!mayEnd || open.at(-1) !== (token === "}" ? "{" : "[")) return undefined;
    open.pop();
    return inside();
  }
  if (token === '"' && (wanted === "key" || wanted === "key-or-end")) return "colon";
  if ((wanted !== "value" && wanted !== "value-or-end") || token === "," || token === ":") return undefined;
  if (token !== "{" && token !== "[") return inside();
  open.push(token);
  return token === "{" ? "key-or-end" : "value-or-end";
}
