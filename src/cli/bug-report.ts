/** `fairlead bug-report`: objects, logs, dumps and statuses of a mesh in one archive, with keys, tokens and passwords taken out. */
import { writeFileSync } from "node:fs";
import { arch, platform, release } from "node:os";
import { resolve } from "node:path";
import { gzipSync } from "node:zlib";
import type { Command } from "commander";
import { tarOf } from "../../scripts/image/tar.ts";
import { createKubeClient } from "../kube/index.ts";
import { FairleadError, parseDurationMs } from "../lib/index.ts";
import { fairleadVersion, istioVersion } from "../model/index.ts";
import { collect, type Report } from "./bug-report/collect.ts";
import { type AccessFlags, clusterAccess } from "./cluster-access.ts";
import type { Io } from "./command.ts";

interface BugReportFlags extends AccessFlags {
  readonly istioNamespace: string;
  readonly namespace: readonly string[];
  readonly since: string;
  readonly allLogs?: boolean;
  readonly file?: string;
}

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  program
    .command("bug-report")
    .summary("Put what a person needs to find a fault into one archive, without secrets")
    .description(
      "Objects of the API, logs of the control plane and of the proxies, what the control plane knows and what each proxy is\n" +
        "sent. Contents of Secrets, private keys, tokens and what is called a password are taken out. Read it before you send\n" +
        "it: what applications write, or users call otherwise, no program can tell.",
    )
    .option("--kubeconfig <file>", "how to reach the API")
    .option("--context <name>", "context of the kubeconfig")
    .option("-i, --istioNamespace <namespace>", "namespace of the control plane", "istio-system")
    .option("-n, --namespace <namespace...>", "only these namespaces, and that of the control plane", [])
    .option("--since <duration>", "logs not older than this", "24h")
    .option("--all-logs", "logs of applications too")
    .option("-f, --file <file>", "where to write it; fairlead-bug-report-TIME.tar.gz where absent")
    .addHelpText(
      "after",
      "\nExamples:\n  fairlead bug-report\n  fairlead bug-report -n shop --since 1h -f report.tar.gz\n",
    )
    .action(async (flags: BugReportFlags) => exit(await bugReport(flags, io)));
}

async function bugReport(flags: BugReportFlags, io: Io): Promise<number> {
  if (parseDurationMs(flags.since) === undefined)
    throw new FairleadError("usage", `--since: ${flags.since} is not a duration`, { hint: "write it as 30m or 24h" });
  const access = await clusterAccess(flags, io);
  const client = createKubeClient(access);
  const made = new Date().toISOString();
  try {
    const report = await collect({
      ...{ client, access, since: flags.since, signal: io.signal, istioNamespace: flags.istioNamespace },
      namespaces: flags.namespace.length === 0 ? undefined : flags.namespace,
      allLogs: flags.allLogs === true,
      tell: (what) => io.err(`reading ${what} …\n`),
    });
    const file = resolve(io.cwd, flags.file ?? `fairlead-bug-report-${made.replaceAll(/[:.]/g, "-")}.tar.gz`);
    writeFileSync(file, archive(report, made), { mode: 0o600 });
    for (const problem of report.problems) io.err(`missing: ${problem}\n`);
    io.out(`${file}\n`);
    return 0;
  } finally {
    client.close();
  }
}

function archive({ files, problems }: Report, made: string): Buffer {
  const about = {
    ...{ made, fairlead: fairleadVersion, istio: istioVersion, node: process.versions.node },
    ...{ system: `${platform()} ${release()} ${arch()}`, missing: problems },
  };
  const all = [["about.json", `${JSON.stringify(about, null, 2)}\n`] as const, ...files];
  const entries = all.map(([path, text]) => ({
    ...({ type: "file", path: `/fairlead-bug-report/${path}`, mode: 0o600 } as const),
    content: { bytes: Buffer.from(text) },
  }));
  return gzipSync(tarOf(entries));
}
