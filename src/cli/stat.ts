/** `fairlead stat`: success, request rate and latency of workloads, services or namespaces, as agents have counted them. */
import type { Command } from "commander";
import { compareText } from "../lib/index.ts";
import { type Grouping, summarize, type TrafficRow, type TrafficSnapshot } from "../traffic/index.ts";
import type { Io } from "./command.ts";
import { outputOption, parseOutput } from "./output.ts";
import { printTable } from "./table.ts";
import { type AskedFlags, askTraffic, withPlaneOptions } from "./traffic/ask.ts";
import { bytesPerSecond, milliseconds, percent, rate } from "./traffic/figures.ts";
import { isMeant, matchesEnd, parseEnd, parseTarget, type Target } from "./traffic/target.ts";

interface StatFlags extends AskedFlags {
  readonly timeWindow: string;
  readonly namespace?: string;
  readonly from?: string;
  readonly to?: string;
  readonly output: string;
}

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  withPlaneOptions(program.command("stat"))
    .summary("Show success, request rate and latency of workloads, services or namespaces")
    .argument("[what...]", "workloads (deploy), services (svc) or namespaces (ns), or one as TYPE/NAME", ["workloads"])
    .option("-n, --namespace <namespace>", "only of this namespace; all where absent")
    .option("-t, --time-window <duration>", "how long to look back, up to 1h", "1m")
    .option("--from <who>", "only requests of this workload, ns/NAMESPACE or svc/NAME")
    .option("--to <whom>", "requests that go out to this workload, ns/NAMESPACE or svc/NAME")
    .addOption(outputOption("table"))
    .addHelpText(
      "after",
      "\nExamples:\n  fairlead stat\n  fairlead stat svc -n shop\n  fairlead stat deploy/reviews-v1 --from productpage-v1 -t 10m\n  fairlead stat deploy/productpage-v1 --to svc/reviews -o wide\n  fairlead stat ns -o json\n",
    )
    .action(async (what: readonly string[], flags: StatFlags) => exit(await stat(what, flags, io)));
}

async function stat(what: readonly string[], flags: StatFlags, io: Io): Promise<number> {
  const target = parseTarget(what, flags.namespace);
  const snapshot = await askTraffic(flags, io);
  const rows = rowsOf(snapshot, target, flags);
  const forms = {
    plain: (wide: boolean) => printTable(...tableOf(rows, snapshot, target.by, wide)),
    data: () => jsonOf(snapshot, target.by, rows),
    names: () => rows.map(({ namespace, name }) => (name === "" ? namespace : `${namespace}/${name}`)),
  };
  io.out(parseOutput(flags.output, "table")(forms));
  tellGaps(snapshot, rows, io);
  return rows.length === 0 && target.name !== undefined ? 1 : 0;
}

function rowsOf(snapshot: TrafficSnapshot, target: Target, { from, to }: StatFlags): readonly TrafficRow[] {
  const [source, destination] = [from, to].map((end) => (end === undefined ? undefined : parseEnd(end)));
  const traffic = snapshot.traffic.filter(
    (edge) =>
      (!source || matchesEnd(source, edge, "source")) && (!destination || matchesEnd(destination, edge, "destination")),
  );
  const way = destination && target.by !== "service" ? "out" : "in";
  const isBusy = ({ protocols }: TrafficRow): boolean => protocols.length > 0;
  return summarize({ ...snapshot, traffic }, target.by, way)
    .filter((row) => isMeant(target, row) && (isBusy(row) || (!source && !destination)))
    .toSorted((a, b) => compareText(a.namespace, b.namespace) || compareText(a.name, b.name));
}

type Column = readonly [title: string, cell: (row: TrafficRow) => string];

const orDash = (count: number, text: string): string => (count === 0 ? "-" : text);
const inNamespace: Column = ["NAMESPACE", ({ namespace }) => namespace || "-"];

/** What a gateway or a client's proxy answered itself, or sent out of the mesh: nobody of the mesh had it. */
const nobody: Readonly<Record<Grouping, string>> = {
  workload: "(no workload)",
  service: "(no service)",
  namespace: "(no namespace)",
};

function tableOf(
  rows: readonly TrafficRow[],
  { seconds }: TrafficSnapshot,
  by: Grouping,
  wide: boolean,
): readonly [readonly string[], readonly (readonly string[])[]] {
  const ofRequests =
    (cell: Column[1]): Column[1] =>
    (row) =>
      orDash(row.requests.requests, cell(row));
  const columns: readonly Column[] = [
    ...(by === "namespace" ? [] : [inNamespace]),
    ["NAME", ({ name, folded }) => name || (folded ? "(others)" : nobody[by])],
    ["SUCCESS", ({ success }) => percent(success)],
    ["RPS", ofRequests((row) => rate(row.requestsPerSecond))],
    ["P50", ({ p50Ms }) => milliseconds(p50Ms)],
    ["P95", ({ p95Ms }) => milliseconds(p95Ms)],
    ["P99", ({ p99Ms }) => milliseconds(p99Ms)],
    ["TCP", ({ connections }) => orDash(connections.opened, String(connections.opened))],
    ["MTLS", ({ mutualTls }) => (mutualTls === "unknown" ? "-" : mutualTls)],
    ...(wide ? wideColumns(seconds, ofRequests) : []),
  ];
  return [columns.map(([title]) => title), rows.map((row) => columns.map(([, cell]) => cell(row)))];
}

function wideColumns(seconds: number, ofRequests: (cell: Column[1]) => Column[1]): readonly Column[] {
  return [
    ["REQUESTS", ofRequests(({ requests }) => String(requests.requests))],
    ["4XX", ofRequests(({ requests }) => String(requests.clientErrors))],
    ["5XX", ofRequests(({ requests }) => String(requests.serverErrors))],
    ["DENIED", ofRequests(({ requests }) => String(requests.denied))],
    ["SENT", ({ connections }) => orDash(connections.sentBytes, bytesPerSecond(connections.sentBytes / seconds))],
    [
      "RECEIVED",
      ({ connections }) => orDash(connections.receivedBytes, bytesPerSecond(connections.receivedBytes / seconds)),
    ],
    ["PROTOCOLS", ({ protocols }) => protocols.join(",") || "-"],
    ["FLAGS", ({ flags }) => Object.keys(flags).sort().join(",") || "-"],
  ];
}

function jsonOf(
  { since, now, seconds, reporters, foldedEdges }: TrafficSnapshot,
  by: Grouping,
  rows: readonly TrafficRow[],
) {
  return { since, now, seconds, reporters, foldedEdges, by, rows };
}

/** What the table does not show, to who looks for it there. */
function tellGaps(snapshot: TrafficSnapshot, rows: readonly TrafficRow[], io: Io): void {
  const { reporters, foldedEdges, silentPlanes, since } = snapshot;
  if (silentPlanes > 0)
    io.err(`${silentPlanes} other replicas of the control plane did not answer; their agents are missing\n`);
  if (rows.length === 0 && reporters === 0)
    io.err("no agent reports to this control plane: are there proxies, and do they reach its port 15012?\n");
  else if (rows.length === 0) io.err(`no requests were seen; ${reporters} agents report, counted since ${since}\n`);
  if (foldedEdges > 0)
    io.err(`too many pairs of workloads: ${foldedEdges} rows of others are counted by namespace alone\n`);
}
