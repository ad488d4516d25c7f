/** `fairlead proxy-status`: every connected proxy, and whether it has what it was sent; istioctl's words and columns. */
import type { Command } from "commander";
import { isRecord } from "../lib/index.ts";
import type { Io } from "./command.ts";
import { outputOption, parseOutput } from "./output.ts";
import { askPlanes, type PlaneFlags } from "./planes.ts";
import { type StatusRow, shortTable, wideTable } from "./proxy-status/tables.ts";

interface StatusFlags extends PlaneFlags {
  readonly output: string;
  readonly namespace?: string;
  readonly verbose?: boolean;
}

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  program
    .command("proxy-status")
    .alias("ps")
    .summary("Show which proxies are connected and in step")
    .description(
      "Of the standalone mesh, or of the cluster that --kubeconfig or KUBECONFIG names: its control planes are asked through\n" +
        "the API. LAST ACK is when the proxy last took what it was sent; WHY is what it said of what it refused.",
    )
    .argument("[proxy]", "pod.namespace; all where absent")
    .option("--data <dir>", "data folder of the running `fairlead up`")
    .option("--address <addr>", "monitoring port of a control plane")
    .option("--kubeconfig <file>", "how to reach the API of a cluster")
    .option("--context <name>", "context of the kubeconfig")
    .option("-i, --istioNamespace <namespace>", "where the control plane is", "istio-system")
    .option("-n, --namespace <namespace>", "only proxies of this namespace")
    .option("-v, --verbose", "as -o wide: a column for each type: SYNCED, STALE, ERROR, NOT SENT, IGNORED, and its age")
    .addOption(outputOption("table"))
    .addHelpText(
      "after",
      "\nExamples:\n  fairlead proxy-status\n  fairlead ps -v reviews-v1.default\n  fairlead ps --context production -o name\n",
    )
    .action(async (proxy: string | undefined, flags: StatusFlags) => exit(await status(proxy, flags, io)));
}

async function status(proxy: string | undefined, flags: StatusFlags, io: Io): Promise<number> {
  const query = flags.namespace === undefined ? "" : `?namespace=${encodeURIComponent(flags.namespace)}`;
  const answers = await askPlanes(flags, `syncz${query}`, io);
  const rows = answers
    .flatMap(({ at, answer }) =>
      (Array.isArray(answer) ? answer.filter(isRecord) : []).map((row): StatusRow => ({ at, row })),
    )
    .filter(({ row }) => proxy === undefined || row.proxy === proxy || String(row.proxy).startsWith(`${proxy}.`));
  const now = Date.now();
  const forms = {
    plain: (wide: boolean) => (wide || flags.verbose ? wideTable(rows, now) : shortTable(rows, now)),
    data: () => rows.map(({ row }) => row),
    names: () => rows.map(({ row }) => String(row.proxy)),
  };
  io.out(parseOutput(flags.output, "table")(forms));
  if (rows.length === 0) io.err(proxy === undefined ? "no proxy is connected\n" : `${proxy} is not connected\n`);
  return rows.length === 0 && proxy !== undefined ? 1 : 0;
}
