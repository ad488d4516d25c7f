/** `fairlead proxy-status`: every connected proxy, and whether it has what it was sent; istioctl's words and columns. */
import { hostname } from "node:os";
import { type Command, Option } from "commander";
import { isRecord } from "../lib/index.ts";
import type { Io } from "./command.ts";
import { askDebug, type DebugFlags } from "./debug-client.ts";
import { printYaml } from "./print.ts";
import { printTable } from "./table.ts";

interface StatusFlags extends DebugFlags {
  readonly output: "table" | "json" | "yaml";
  readonly namespace?: string;
  readonly verbose?: boolean;
}

type Row = Readonly<Record<string, unknown>>;

const types: readonly (readonly [string, string])[] = [
  ["CDS", "cluster"],
  ["LDS", "listener"],
  ["EDS", "endpoint"],
  ["RDS", "route"],
  ["ECDS", "extensionconfig"],
];

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  program
    .command("proxy-status")
    .alias("ps")
    .summary("Show which proxies are connected and in step")
    .argument("[proxy]", "pod.namespace; all where absent")
    .option("--data <dir>", "data folder of the running `fairlead up`")
    .option("--address <addr>", "monitoring port of a control plane")
    .option("-n, --namespace <namespace>", "only proxies of this namespace")
    .option("-v, --verbose", "a column for each type: SYNCED, STALE, ERROR, IGNORED; and why")
    .addOption(new Option("-o, --output <format>", "how to print").choices(["table", "json", "yaml"]).default("table"))
    .addHelpText("after", "\nExamples:\n  fairlead proxy-status\n  fairlead ps -v reviews-v1.default\n")
    .action(async (proxy: string | undefined, flags: StatusFlags) => exit(await status(proxy, flags, io)));
}

async function status(proxy: string | undefined, flags: StatusFlags, io: Io): Promise<number> {
  const answer = await askDebug(
    flags,
    `syncz${flags.namespace === undefined ? "" : `?namespace=${encodeURIComponent(flags.namespace)}`}`,
    io,
  );
  const rows = (Array.isArray(answer) ? answer.filter(isRecord) : []).filter(
    (row) => proxy === undefined || row["proxy"] === proxy || String(row["proxy"]).startsWith(`${proxy}.`),
  );
  if (flags.output === "json") io.out(`${JSON.stringify(rows, null, 2)}\n`);
  else if (flags.output === "yaml") io.out(printYaml(rows));
  else io.out(flags.verbose ? verboseTable(rows) : shortTable(rows));
  if (rows.length === 0) io.err(proxy === undefined ? "no proxy is connected\n" : `${proxy} is not connected\n`);
  return rows.length === 0 && proxy !== undefined ? 1 : 0;
}

function shortTable(rows: readonly Row[]): string {
  const line = (row: Row): string[] => {
    const subscribed = types.filter(([name, field]) => stateOf(row, name, field) !== "IGNORED").map(([name]) => name);
    return [
      String(row["proxy"]),
      String(row["cluster_id"]),
      hostname(),
      String(row["istio_version"]),
      `${subscribed.length} (${subscribed.join(",")})`,
    ];
  };
  return printTable(["NAME", "CLUSTER", "ISTIOD", "VERSION", "SUBSCRIBED TYPES"], rows.map(line), 5);
}

function verboseTable(rows: readonly Row[]): string {
  const header = ["NAME", "CLUSTER", ...types.map(([name]) => name), "ISTIOD", "VERSION", "CONNECTED", "WHY"];
  return printTable(
    header,
    rows.map((row) => [
      String(row["proxy"]),
      String(row["cluster_id"]),
      ...types.map(([name, field]) => stateOf(row, name, field)),
      hostname(),
      String(row["istio_version"]),
      String(row["connected_at"]),
      reasons(row),
    ]),
    5,
  );
}

function stateOf(row: Row, name: string, field: string): string {
  const [sent, acked] = [String(row[`${field}_sent`] ?? ""), String(row[`${field}_acked`] ?? "")];
  if (isRecord(row["errors"]) && row["errors"][name] !== undefined) return "ERROR";
  if (sent === "") return "IGNORED";
  return sent === acked ? "SYNCED" : "STALE";
}

function reasons(row: Row): string {
  const errors = isRecord(row["errors"])
    ? Object.entries(row["errors"]).map(([type, error]) => `${type}: ${String(error)}`)
    : [];
  const held = Array.isArray(row["held"])
    ? row["held"]
        .filter(isRecord)
        .map((item) => `${String(item["type"])} ${String(item["name"])} waits for ${String(item["clusters"])}`)
    : [];
  const refused = (Array.isArray(row["refused"]) ? row["refused"] : [])
    .filter(isRecord)
    .map((item) => `${String(item["type"])} ${String(item["name"])} was made by ${String(item["objects"])}`);
  return [...errors, ...refused, ...held].join("; ");
}
