/** Runs in; text for people out. */
import type { PartFigures } from "./figures.ts";
import type { ChangeRow, Run } from "./measure.ts";

const number = (value: number | undefined, digits = 0): string =>
  value === undefined || Number.isNaN(value) ? "-" : value.toFixed(digits);

const kib = (bytes: number): string => (bytes / 1024).toFixed(1);

const delay = (value: Run["warmLoopDelayMs"]): string => (value ? `${number(value.p99)} / ${number(value.max)}` : "-");

export function sayRun(run: Run): string {
  const { fleet, size } = run;
  const parts = Object.entries(run.memoryMiB).map(([part, value]) => `${part} ${number(value)}`);
  return [
    `${run.server}: ${fleet.proxies} proxies of ${fleet.deployments || fleet.namespaces} deployments in ${fleet.namespaces} namespaces, ` +
      `${size.services} services, ${fleet.mode}${fleet.tls ? ", TLS" : ""}`,
    `  warm after ${number(run.warmMs / 1000, 1)} s; ${number(run.warmCpuMsPerProxy, 1)} ms of CPU and ${kib(run.warmBytesPerProxy)} KiB a proxy; ` +
      `event loop p99 / worst ${delay(run.warmLoopDelayMs)} ms; ${run.cut} streams cut`,
    `  resident ${number(run.residentMiB)} MiB (${number(run.residentBeforeMiB)} before the fleet; ${parts.join(", ") || "no parts told"}); ` +
      `${number(run.classes)} classes, ${number(run.kibPerClass)} KiB a class, ${number(run.kibPerProxy)} KiB a proxy`,
    ...(run.parts ? sayParts(run.parts) : []),
    ...rows(run.changes),
    "",
  ].join("\n");
}

/** How many recipes are named; all are in the JSON. */
const maxNamed = 8;

function sayParts({ recipes, encodedKiB }: PartFigures): readonly string[] {
  const sum = (of: "entries" | "lookups"): number => recipes.reduce((all, recipe) => all + recipe[of], 0);
  const named = recipes.slice(0, maxNamed).map(({ recipe, entries, lookups }) => `${recipe} ${entries} / ${lookups}`);
  const encoded = Object.entries(encodedKiB).map(([type, size]) => `${type} ${number(size)}`);
  return [
    `  parts, entries / look-ups: ${sum("entries")} / ${sum("lookups")} of ${recipes.length} recipes, most in ${named.join(", ")}`,
    `  encoded KiB, each piece once: ${encoded.join(", ")}`,
  ];
}

function rows(changes: readonly ChangeRow[]): readonly string[] {
  const head = ["change", "p50 ms", "p99 ms", "last ms", "CPU s", "KiB/proxy", "responses", "loop p99/worst ms"];
  const cells = changes.map((row) => [
    row.change,
    number(row.p50Ms),
    number(row.p99Ms),
    number(row.lastMs),
    number(row.cpuSeconds, 2),
    kib(row.bytesPerProxy),
    String(row.responses),
    delay(row.loopDelayMs),
  ]);
  const widths = head.map((title, column) => Math.max(title.length, ...cells.map((line) => line[column]?.length ?? 0)));
  const line = (texts: readonly string[]): string =>
    `  ${texts.map((text, column) => (column === 0 ? text.padEnd(widths[0] ?? 0) : text.padStart(widths[column] ?? 0))).join("  ")}`;
  return [line(head), ...cells.map(line)];
}
