/** Outcomes in; a table for people out. */
import { printTable } from "../../src/cli/table.ts";
import type { Outcome } from "./play.ts";
import type { RowReport } from "./rows.ts";

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

export function outcomeTable(outcomes: readonly Outcome[]): string {
  const header = ["", "FAULT", "LASTED", "REQUESTS", "FAILED", "UNDER WAY ON THE KILLED", "HEALED AFTER", "SLOWEST"];
  return printTable(
    header,
    outcomes.map((outcome) => [
      outcome.wrong.length === 0 ? "ok" : "FAIL",
      outcome.fault,
      `${outcome.seconds.toFixed(0)} s`,
      String(outcome.requests),
      failedCell(outcome),
      String(outcome.inFlight),
      seconds(outcome.healMs),
      seconds(outcome.slowestMs),
    ]),
  );
}

const failedCell = ({ failed, allowed, lastMs }: Outcome): string =>
  `${failed}${allowed > 0 ? ` (${allowed} expected)` : ""}${lastMs > 0 ? ` for ${lastMs} ms` : ""}`;

export function causeLines(outcomes: readonly Outcome[]): string {
  return outcomes
    .flatMap(({ fault, causes, seen, wrong }) => [
      ...seen.map((text) => `${fault}: ${text}\n`),
      ...Object.entries(causes).map(([cause, count]) => `${fault}: ${count} × ${cause}\n`),
      ...wrong.map((text) => `${fault}: WRONG ${text}\n`),
    ])
    .join("");
}

export function rowTable(reports: readonly (readonly [string, RowReport])[]): string {
  return printTable(
    ["", "ROW", "REQUESTS", "FAILED", "ON THE KILLED", "SEEN"],
    reports.map(([name, report]) => [
      report.failed === 0 && report.faults.length === 0 ? "ok" : "FAIL",
      name,
      String(report.requests),
      String(report.failed),
      String(report.onTheKilled),
      report.seen,
    ]),
  );
}
