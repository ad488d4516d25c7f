/** Rows in; aligned columns, as kubectl and istioctl print them, out. */
import { printable } from "../lib/index.ts";

/** Columns are separated by `gap` spaces; the last is not padded, and no line ends in blanks. */
export function printTable(header: readonly string[], rows: readonly (readonly string[])[], gap = 3): string {
  return alignRows([header, ...rows], gap)
    .map((line) => `${line.trimEnd()}\n`)
    .join("");
}

/**
 * Byte for byte what Go's text/tabwriter prints, blanks at the end included: the last cell of a row belongs to no
 * column, and rows that lack a cell end the column, so that the rows below are aligned anew.
 */
export function printTabs(rows: readonly (readonly string[])[], gap: number, minWidth = 0): string {
  return alignRows(rows, gap, minWidth)
    .map((line) => `${line}\n`)
    .join("");
}

/** `minWidth` counts the gap. */
function alignRows(rows: readonly (readonly string[])[], gap: number, minWidth = 0): readonly string[] {
  const lines = rows.map((row) => row.map((cell) => printable(cell)));
  const widest = Math.max(0, ...lines.map((line) => line.length - 1));
  for (let column = 0; column < widest; column++) padColumn(lines, column, gap, minWidth);
  return lines.map((line) => line.join(""));
}

function padColumn(lines: readonly string[][], column: number, gap: number, minWidth: number): void {
  for (let start = 0; start < lines.length; ) {
    let end = start;
    let width = Math.max(0, minWidth - gap);
    for (let line = lines[end]; line && line.length - 1 > column; line = lines[++end])
      width = Math.max(width, textWidth(line[column] ?? ""));
    for (const line of lines.slice(start, end)) {
      const cell = line[column] ?? "";
      line[column] = cell + " ".repeat(width + gap - textWidth(cell));
    }
    start = Math.max(end, start + 1);
  }
}

/** Characters, not code units. */
function textWidth(text: string): number {
  return [...text].length;
}
