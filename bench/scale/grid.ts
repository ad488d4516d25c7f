/** Runs in; one table of all of them, a row each, in Markdown, as docs/scale.md has it, out. */
import type { Run } from "./measure.ts";
import type { ChangeRow } from "./measure-change.ts";

const columns: readonly (readonly [head: string, cell: (run: Run) => string])[] = [
  ["proxies", ({ fleet }) => String(fleet.proxies)],
  ["deployments", ({ fleet }) => String(fleet.deployments || fleet.namespaces)],
  ["namespaces", ({ fleet }) => String(fleet.namespaces)],
  ["", ({ server, fleet }) => [server, fleet.mode, ...(fleet.tls ? ["TLS"] : [])].join(" ")],
  [
    "warm: CPU ms; KiB a proxy",
    ({ warmCpuMsPerProxy, warmBytesPerProxy }) =>
      `${number(warmCpuMsPerProxy, 1)}; ${number(warmBytesPerProxy / 1024)}`,
  ],
  ["MiB", ({ memory }) => number(memory?.warm.residentMiB)],
  ["first answer, worst", ({ firstResponseMs }) => number(firstResponseMs?.max)],
  ["loop while they come: p99; worst", ({ warmLoopDelayMs }) => spread(warmLoopDelayMs)],
  ["VirtualService", change("one VirtualService")],
  ["endpoint", change("one endpoint")],
  ["Service added", change("one Service added")],
  ["50 VirtualServices", change("50 VirtualServices")],
  ["DestinationRule", change("one DestinationRule")],
  ["a namespace's Sidecar", change("a namespace's Sidecar")],
  ["MeshConfig", change("MeshConfig")],
  ["loop at a change each 0.5 s: p99; worst", ({ steady: { loopDelayMs } }) => spread(loopDelayMs)],
  ["cut", ({ cut }) => String(cut)],
];

/** Until the last proxy had it, and CPU; of several of a kind the median of both. */
function change(name: string): (run: Run) => string {
  return ({ changes }) => {
    const rows = changes.filter((row) => row.change === name);
    const median = (of: (row: ChangeRow) => number | undefined): number | undefined =>
      rows
        .flatMap((row) => of(row) ?? [])
        .toSorted((a, b) => a - b)
        .at(Math.floor(rows.length / 2));
    return rows.length === 0
      ? "-"
      : `${number(median((row) => row.lastMs))}; ${number(
          median((row) => row.cpuSeconds),
          2,
        )}`;
  };
}

const spread = (of: Run["steady"]["loopDelayMs"]): string => `${number(of?.p99)}; ${number(of?.max)}`;

const number = (value: number | undefined, digits = 0): string =>
  value === undefined || Number.isNaN(value) ? "-" : value.toFixed(digits);

export function sayGrid(runs: readonly Run[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [
    line(columns.map(([head]) => head)),
    `|${"---|".repeat(columns.length)}`,
    ...runs.map((run) => line(columns.map(([, cell]) => cell(run)))),
  ].join("\n");
}
