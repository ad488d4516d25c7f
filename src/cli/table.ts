/** Rows in; aligned columns, as kubectl and istioctl print them, out. */
import { printable } from "../lib/index.ts";

/** Columns are separated by `gap` spaces; the last is not padded. */
export function printTable(header: readonly string[], rows: readonly (readonly string[])[], gap = 3): string {
  const cells = [header, ...rows.map((row) => row.map(printable))];
  const widths = header.map((_, i) => Math.max(...cells.map((row) => row[i]?.length ?? 0)));
  return cells
    .map(
      (row) =>
        `${row
          .map((cell, i) => (i === row.length - 1 ? cell : cell.padEnd((widths[i] ?? 0) + gap)))
          .join("")
          .trimEnd()}\n`,
    )
    .join("");
}
