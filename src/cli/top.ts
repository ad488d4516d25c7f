/** `fairlead top`: live requests by caller, method and path, as a table that is drawn anew each second on a terminal. */
import { type Command, Option } from "commander";
import type { LiveRequest, Party } from "../read-api/index.ts";
import type { Io } from "./command.ts";
import { printJson } from "./print.ts";
import { printTable } from "./table.ts";
import { milliseconds, percent } from "./traffic/figures.ts";
import { durationOf, type LiveFlags, liveRequests, queryOf, withLiveOptions } from "./traffic/live.ts";

interface TopFlags extends LiveFlags {
  readonly hideSources?: boolean;
  readonly rows: string;
  readonly output: "table" | "json";
}

interface TopRow {
  readonly source: string;
  readonly destination: string;
  readonly method: string;
  readonly path: string;
  count: number;
  failed: number;
  bestMs: number;
  worstMs: number;
  lastMs: number;
}

const minuteMs = 60_000;
/** Paths with ids in them are without end. */
const maxRows = 10_000;

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  withLiveOptions(program.command("top"))
    .summary("Watch which requests are made, by path and caller, as a table")
    .option("--for <duration>", "how long to look; on a terminal until it is stopped, else 10s")
    .option("--hide-sources", "do not tell callers apart")
    .option("--rows <count>", "how many rows to show", "30")
    .addOption(new Option("-o, --output <format>", "how to print").choices(["table", "json"]).default("table"))
    .addHelpText(
      "after",
      "\nExamples:\n  fairlead top deploy/reviews-v1\n  fairlead top ns/shop --hide-sources\n  fairlead top svc/reviews --for 30s -o json\n",
    )
    .action(async (what: readonly string[], flags: TopFlags) => exit(await top(what, flags, io)));
}

async function top(what: readonly string[], flags: TopFlags, io: Io): Promise<number> {
  const untilMs = performance.now() + durationOf(flags, io.tty ? Number.POSITIVE_INFINITY : 10_000);
  const rows = new Map<string, TopRow>();
  const draws = io.tty && flags.output === "table";
  let leftOut = 0;
  for (
    let leftMs = untilMs - performance.now();
    leftMs > 0 && !io.signal.aborted;
    leftMs = untilMs - performance.now()
  ) {
    // Control planes let nobody look for longer at once.
    const forMs = Math.ceil(Math.min(leftMs, minuteMs));
    const query = queryOf(what, flags, { for: `${forMs}ms` }, "destination");
    for await (const batch of liveRequests(flags, query, io)) {
      for (const request of batch.requests) count(rows, request, flags);
      leftOut += batch.leftOut;
      if (draws) io.out(`\u001b[H\u001b[J${tableOf(rows, flags)}\n${footOf(rows, leftOut, batch.proxies)}\n`);
    }
  }
  if (flags.output === "json") io.out(printJson({ leftOut, rows: sorted(rows) }, 2));
  else if (!draws) io.out(tableOf(rows, flags));
  if (!draws && leftOut > 0) io.err(`${leftOut} more requests were not shown\n`);
  return 0;
}

function count(rows: Map<string, TopRow>, request: LiveRequest, { hideSources = false }: TopFlags): void {
  const source = hideSources ? "" : nameOf(request.source);
  const destination = nameOf(request.destination);
  const { method, path, durationMs, status, protocol } = request;
  if (protocol === "tcp") return;
  const key = JSON.stringify([source, destination, method, path]);
  const row = rows.get(key) ?? {
    ...{ source, destination, method, path, count: 0, failed: 0 },
    ...{ bestMs: durationMs, worstMs: durationMs, lastMs: durationMs },
  };
  if (!rows.has(key) && rows.size >= maxRows) return;
  rows.set(key, row);
  row.count++;
  if (status === 0 || status >= 500) row.failed++;
  row.bestMs = Math.min(row.bestMs, durationMs);
  row.worstMs = Math.max(row.worstMs, durationMs);
  row.lastMs = durationMs;
}

const nameOf = ({ workload, namespace }: Party): string => (workload === "" ? "unknown" : `${workload}.${namespace}`);

const sorted = (rows: ReadonlyMap<string, TopRow>): readonly TopRow[] =>
  [...rows.values()].sort((a, b) => b.count - a.count);

function tableOf(rows: ReadonlyMap<string, TopRow>, { hideSources = false, rows: most }: TopFlags): string {
  const cells = sorted(rows)
    .slice(0, Math.max(1, Number(most) || 30))
    .map((row) => [
      ...(hideSources ? [] : [row.source]),
      ...[row.destination, row.method, row.path, String(row.count)],
      ...[row.bestMs, row.worstMs, row.lastMs].map(milliseconds),
      percent(1 - row.failed / row.count),
    ]);
  const header = ["DESTINATION", "METHOD", "PATH", "COUNT", "BEST", "WORST", "LAST", "SUCCESS"];
  return printTable(hideSources ? header : ["SOURCE", ...header], cells);
}

const footOf = (rows: ReadonlyMap<string, TopRow>, leftOut: number, proxies: number): string =>
  `${rows.size} rows of ${proxies} proxies${leftOut > 0 ? `; ${leftOut} requests were too many to show` : ""}; Ctrl-C ends it`;
