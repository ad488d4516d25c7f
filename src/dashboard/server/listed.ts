/** Rows and what was asked for in; those that match, a page of them, out. */
import type { Listed } from "../../read-api/index.ts";

const pageRows = 200;
/** Nobody types more. */
const maxWords = 10;

/** Each word of `q` must be somewhere in the row. */
export function listed<T>(rows: readonly T[], query: URLSearchParams, textOf: (row: T) => string): Listed<T> {
  const words = (query.get("q") ?? "").toLowerCase().split(/\s+/).filter(Boolean).slice(0, maxWords);
  const found = words.length === 0 ? rows : rows.filter((row) => matches(textOf(row).toLowerCase(), words));
  const pages = Math.max(1, Math.ceil(found.length / pageRows));
  const asked = Number(query.get("page") ?? "1");
  const page = Math.min(pages, Math.max(1, Number.isInteger(asked) ? asked : 1));
  return { rows: found.slice((page - 1) * pageRows, page * pageRows), total: found.length, page, pages };
}

const matches = (text: string, words: readonly string[]): boolean => words.every((word) => text.includes(word));
