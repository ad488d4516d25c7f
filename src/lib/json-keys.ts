/** JSON text in, the first key that an object of it has twice out; parsers keep the last one silently. */

/** The text must be JSON already: only strings and brackets are looked at. */
export function repeatedKey(text: string): string | undefined {
  const open: (Set<string> | undefined)[] = [];
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === "{") open.push(new Set());
    else if (c === "[") open.push(undefined);
    else if (c === "}" || c === "]") open.pop();
    else if (c === '"') {
      const end = endOfString(text, i);
      const keys = open.at(-1);
      if (keys && isKey(text, end)) {
        const key = String(JSON.parse(text.slice(i, end)));
        if (keys.has(key)) return key;
        keys.add(key);
      }
      i = end - 1;
    }
  }
  return undefined;
}

function endOfString(text: string, start: number): number {
  let i = start + 1;
  while (i < text.length && text[i] !== '"') i += text[i] === "\\" ? 2 : 1;
  return i + 1;
}

function isKey(text: string, end: number): boolean {
  let i = end;
  while (text[i] === " " || text[i] === "\n" || text[i] === "\t" || text[i] === "\r") i++;
  return text[i] === ":";
}
