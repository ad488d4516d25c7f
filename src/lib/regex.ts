/** User-written patterns, always RE2: the same verdict as Go's regexp, and no backtracking. */
import { RE2JS } from "re2js";
import { dropOldest } from "./drop-oldest.ts";
import { measurePattern } from "./pattern-size.ts";

export interface Pattern {
  /** What it costs to look at a text: its instructions, each for every character. Some 30 million take a second. */
  workOn(text: string): number;
  /** True where the pattern is found anywhere in the text. */
  find(text: string): boolean;
  /** True where the pattern matches the whole text. */
  matches(text: string): boolean;
  /** Every match replaced, in RE2's words: `\\1` is the first group, `\\0` all of it. */
  replaceAll(text: string, replacement: string): string;
}

/** Istio's bound on the size of a pattern that a user may write. */
const maxLength = 1024;

/** The same few patterns are asked for again and again, and each costs as much as the rest of its object. */
const maxKnown = 500;
const known = new Map<string, Pattern | { readonly error: string }>();

export function compilePattern(source: string): Pattern | { readonly error: string } {
  if (source.length > maxLength)
    return { error: `the pattern has ${source.length} characters; at most ${maxLength} are accepted` };
  const made = known.get(source) ?? compile(source);
  // The ones that were asked for last stay.
  known.delete(source);
  known.set(source, made);
  dropOldest(known, maxKnown);
  return made;
}

function compile(source: string): Pattern | { readonly error: string } {
  try {
    const compiled = RE2JS.compile(source);
    const { most } = measurePattern(source);
    return {
      workOn: (text) => most * text.length,
      find: (text) => compiled.matcher(text).find(),
      matches: (text) => compiled.matches(text),
      replaceAll: (text, replacement) =>
        compiled.matcher(text).replaceAll((...groups: readonly unknown[]) => filledIn(replacement, groups)),
    };
  } catch (error) {
    return { error: error instanceof Error ? error.message : "not a valid pattern" };
  }
}

function filledIn(replacement: string, groups: readonly unknown[]): string {
  return replacement.replace(/\\([\\\d])/g, (_all, word: string) =>
    word === "\\" ? word : String(groups[Number(word)] ?? ""),
  );
}

/** Size of the compiled program, which Envoy bounds; undefined for what is no pattern. No bound on the length of the source. */
export function patternSize(source: string): number | undefined {
  try {
    return RE2JS.compile(source).programSize();
  } catch {
    return undefined;
  }
}

/** The text as a pattern that matches exactly it, with the escapes of Go's QuoteMeta. */
export function quotePattern(text: string): string {
  return text.replace(/[\\.+*?()|[\]{}^$]/g, "\\$&");
}
