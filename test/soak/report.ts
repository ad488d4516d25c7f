/** What was measured in; a table for people, and what is wrong, out. */
import { printTable } from "../../src/cli/table.ts";
import { type Growth, type HeapShares, heapGrowth } from "./heap.ts";
import { type Point, slopeOf } from "./slope.ts";

export interface Heaps {
  readonly name: string;
  readonly before: HeapShares;
  readonly after: HeapShares;
}

export interface ProcessRow {
  readonly name: string;
  /** Of its own: without files that it has mapped. */
  readonly resident: readonly Point[];
  /** What is alive after garbage was collected. */
  readonly live: readonly Point[];
  readonly fds: readonly [before: number, after: number];
}

/** Fewer are no slope. */
const fewest = 5;

/** B/s of what is alive: resident memory has much in it that nobody uses. Undefined where the run was too short to say. */
function growthOf({ live }: ProcessRow): number | undefined {
  return live.length >= fewest ? slopeOf(live) : undefined;
}

export function wrongGrowth(row: ProcessRow, limit: number): readonly string[] {
  const growth = growthOf(row);
  if (growth === undefined) return [`${row.name}: ${row.live.length} samples are too few for a slope`];
  return growth > limit ? [`${row.name} grows by ${growth.toFixed(0)} B/s, more than ${limit}`] : [];
}

export function processTable(rows: readonly ProcessRow[], limit: number): string {
  const header = ["", "PROCESS", "RESIDENT MB", "B/s", "LIVE MB", "B/s", "SAMPLES", "FDS"];
  const cells = rows.map((row) => [
    wrongGrowth(row, limit).length === 0 ? "ok" : "FAIL",
    row.name,
    span(row.resident),
    slopeOf(row.resident).toFixed(0),
    span(row.live),
    slopeOf(row.live).toFixed(0),
    String(row.live.length),
    row.fds.join(" → "),
  ]);
  return printTable(header, cells);
}

const span = (points: readonly Point[]): string =>
  [points.at(0), points.at(-1)].map((point) => ((point?.value ?? 0) / 1e6).toFixed(1)).join(" → ");

export function heapTables(heaps: readonly Heaps[]): string {
  const line = ({ name, before, after }: Growth): readonly string[] => [
    name,
    `${before.count} → ${after.count}`,
    `+${((after.bytes - before.bytes) / 1000).toFixed(1)}`,
  ];
  return heaps
    .map(({ name, before, after }) => {
      const grown = heapGrowth(before, after).slice(0, 10).map(line);
      return `\nMore in the heap of ${name}:\n${printTable(["CONSTRUCTOR", "OBJECTS", "KB"], grown)}`;
    })
    .join("");
}

export const wrongLines = (wrong: readonly string[], limit: number): string =>
  wrong.length > 0
    ? wrong.map((text) => `\nWRONG: ${text}`).join("")
    : `\nPASS: nothing grows by more than ${limit} B/s\n`;
