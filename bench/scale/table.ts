/** Runs in; text for people out. */
import type { Memory, PartFigures } from "./figures.ts";
import type { Run } from "./measure.ts";
import type { ChangeRow } from "./measure-change.ts";
import { type Newcomers, sumsOf } from "./newcomers.ts";
import type { Spread } from "./spread.ts";

const number = (value: number | undefined, digits = 0): string =>
  value === undefined || Number.isNaN(value) ? "-" : value.toFixed(digits);

const kib = (bytes: number): string => (bytes / 1024).toFixed(1);

const spread = (of: Spread | undefined): string =>
  of ? `p99 / worst ${number(of.p99)} / ${number(of.max)} ms of ${of.samples}` : "not told";

export function sayRun(run: Run): string {
  const { fleet, size, steady } = run;
  return [
    `${run.server}: ${fleet.proxies} proxies of ${fleet.deployments || fleet.namespaces} deployments in ${fleet.namespaces} namespaces, ` +
      `${size.services} services, ${fleet.mode}${fleet.tls ? ", TLS" : ""}`,
    `  warm after ${number(run.warmMs / 1000, 1)} s; ${number(run.warmCpuMsPerProxy, 1)} ms of CPU and ${kib(run.warmBytesPerProxy)} KiB a proxy; ` +
      `${run.cut} streams cut`,
    `  first response after connect: ${spread(run.firstResponseMs)}; event loop meanwhile: ${spread(run.warmLoopDelayMs)}`,
    ...sayMemory(run),
    ...(run.parts ? sayParts(run.parts) : []),
    ...rows(run.changes),
    `  a route each half second: last proxy p50 / worst ${number(steady.lastMs?.p50)} / ${number(steady.lastMs?.max)} ms, ` +
      `${number(steady.cpuSecondsPerChange, 3)} s of CPU each; event loop: ${spread(steady.loopDelayMs)}`,
    sayNewcomers(run.newcomers),
    "",
  ].join("\n");
}

function sayMemory({ memory, classes, addedKibPerProxy, newcomers: { kibPerClass } }: Run): readonly string[] {
  if (!memory) return [];
  const parts = Object.keys(memory.warm.parts);
  const cells = ({ residentMiB, parts: of }: Memory): readonly string[] =>
    [residentMiB, ...parts.map((part) => of[part])].map((value) => number(value));
  return [
    ...grid([
      ["memory, MiB", "resident", ...parts],
      ["before the fleet", ...cells(memory.before)],
      ["warm", ...cells(memory.warm)],
      ["after the changes", ...cells(memory.changed)],
    ]),
    `  warm, the fleet has added ${number(addedKibPerProxy)} KiB resident a proxy, with all that it shares and garbage`,
    ...(kibPerClass
      ? [
          `  ${number(classes)} classes; a further one keeps ${number(kibPerClass.encoded, 1)} KiB of bytes, ` +
            `about ${number(kibPerClass.entries, 1)} KiB of entries`,
        ]
      : []),
  ];
}

/** How many recipes are named; all are in the JSON. */
const maxNamed = 8;

function sayParts(parts: PartFigures): readonly string[] {
  const { recipes, encodedKiB } = parts;
  const { encoded, entries } = sumsOf(parts);
  const types = Object.entries(encodedKiB).map(([type, size]) => `${type} ${number(size)}`);
  const sum = (of: "entries" | "lookups" | "kib"): number =>
    recipes.slice(maxNamed).reduce((all, recipe) => all + recipe[of], 0);
  const others = {
    recipe: `${recipes.length - maxNamed} others`,
    entries: sum("entries"),
    lookups: sum("lookups"),
    kib: sum("kib"),
  };
  return [
    `  kept for it: ${number(encoded)} KiB encoded, each piece once (${types.join(", ")}), and about ${number(entries)} KiB of entries:`,
    ...grid([
      ["recipe", "entries", "look-ups", "~KiB"],
      ...[...recipes.slice(0, maxNamed), ...(recipes.length > maxNamed ? [others] : [])].map((one) => [
        one.recipe,
        String(one.entries),
        String(one.lookups),
        number(one.kib),
      ]),
    ]),
  ];
}

const rows = (changes: readonly ChangeRow[]): readonly string[] =>
  grid([
    ["change", "p50 ms", "p99 ms", "last ms", "CPU s", "KiB/proxy", "responses", "loop's worst ms"],
    ...changes.map((row) => [
      row.change,
      number(row.p50Ms),
      number(row.p99Ms),
      number(row.lastMs),
      number(row.cpuSeconds, 2),
      kib(row.bytesPerProxy),
      String(row.responses),
      number(row.loopDelayMs?.max),
    ]),
  ]);

const sayNewcomers = ({ proxies, warmMs, firstResponseMs }: Newcomers): string =>
  `  meanwhile ${proxies} proxies of new deployments: warm after ${number(warmMs / 1000, 1)} s, first response: ${spread(firstResponseMs)}`;

/** The first column to the left, the others to the right. */
function grid(cells: readonly (readonly string[])[]): readonly string[] {
  const widths = (cells[0] ?? []).map((_, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0)));
  return cells.map(
    (line) =>
      `  ${line.map((text, column) => (column === 0 ? text.padEnd(widths[0] ?? 0) : text.padStart(widths[column] ?? 0))).join("  ")}`,
  );
}
