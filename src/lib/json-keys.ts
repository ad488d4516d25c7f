/** JSON text in, the keys that objects of it have twice out: parsers keep the last value silently. */
import { createLineCounter } from "./line-counter.ts";

export interface RepeatedKey {
  readonly key: string;
  /** Such as `spec.ports[0].name`. */
  readonly path: string;
  /** Of the value that comes later, counted from 1. */
  readonly line: number;
}

/** Nobody reads more of them. */
export const maxRepeatedKeys = 100;

/** A list with the index it is at, or an object with its keys so far, of which the last one is `at`. */
type Open = { at: string | number; readonly keys?: Set<string> };

/** The text must be JSON already: only strings, brackets and commas are looked at. */
export function repeatedKeys(text: string): readonly RepeatedKey[] {
  const open: Open[] = [];
  const found: RepeatedKey[] = [];
  const lineAt = createLineCounter(text);
  for (let i = 0; i < text.length && found.length < maxRepeatedKeys; i++) {
    const c = text[i];
    if (c === "{") open.push({ at: "", keys: new Set() });
    else if (c === "[") open.push({ at: 0 });
    else if (c === "}" || c === "]") open.pop();
    else if (c === ",") nextItem(open.at(-1));
    else if (c === '"') {
      const end = endOfString(text, i);
      const object = open.at(-1);
      const value = object?.keys ? valueAfter(text, end) : undefined;
      if (object?.keys && value !== undefined) {
        const key = textOf(text, i, end);
        object.at = key;
        if (object.keys.has(key)) found.push({ key, path: pathOf(open), line: lineAt(value) });
        object.keys.add(key);
      }
      i = end - 1;
    }
  }
  return found;
}

function nextItem(open: Open | undefined): void {
  if (typeof open?.at === "number") open.at++;
}

function pathOf(open: readonly Open[]): string {
  return open.reduce((path, { at }) => {
    if (typeof at === "number") return `${path}[${at}]`;
    return path === "" ? at : `${path}.${at}`;
  }, "");
}

function textOf(text: string, start: number, end: number): string {
  const inner = text.slice(start + 1, end - 1);
  return inner.includes("\\") ? String(JSON.parse(text.slice(start, end))) : inner;
}

function endOfString(text: string, start: number): number {
  let i = start + 1;
  while (i < text.length && text[i] !== '"') i += text[i] === "\\" ? 2 : 1;
  return i + 1;
}

/** Where the value of the key that ends here begins; undefined where it is no key. */
function valueAfter(text: string, end: number): number | undefined {
  const colon = afterBlanks(text, end);
  return text[colon] === ":" ? afterBlanks(text, colon + 1) : undefined;
}

function afterBlanks(text: string, from: number): number {
  let i = from;
  while (text[i] === " " || text[i] === "\n" || text[i] === "\t" || text[i] === "\r") i++;
  return i;
}
