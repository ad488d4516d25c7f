/** `fairlead check`: this machine, the mesh on it or a cluster in; what is well and what is not, in the manner of linkerd check, out. */

import { join } from "node:path";
import type { Command } from "commander";
import { preflight } from "../../scripts/preflight/checks.mjs";
import type { Finding } from "../../scripts/preflight/finding.mjs";
import { createMachine } from "../../scripts/preflight/machine.mjs";
import { formatFindings, missingCommand } from "../../scripts/preflight/report.mjs";
import { FairleadError, parseDurationMs, printable, wait } from "../lib/index.ts";
import { checkCluster } from "./check/cluster.ts";
import { checkMesh } from "./check/mesh.ts";
import { choose } from "./check/selection.ts";
import { type AccessFlags, clusterAccess } from "./cluster-access.ts";
import { collect, type Io } from "./command.ts";
import { meshDataDir, standaloneDir } from "./mesh-data-dir.ts";
import { outputOption, parseOutput } from "./output.ts";

interface CheckFlags extends AccessFlags {
  readonly pre?: boolean;
  readonly data?: string;
  readonly test?: boolean;
  readonly istioNamespace: string;
  readonly category: readonly string[];
  readonly skip: readonly string[];
  readonly proxy?: string | true;
  readonly wait: string;
  readonly output: string;
}

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  program
    .command("check")
    .summary("Ask whether the mesh is well, or this machine has what one needs")
    .description(
      "Without flags: the API, the control plane and the agents of a running `fairlead up`, by their figures; or the API, the\n" +
        "installation, the control planes and the proxies of the cluster that --kubeconfig or KUBECONFIG names.\n" +
        "With --pre, before a mesh is started: programs, rights, disk space and ports of this machine.\n" +
        "Nothing is changed. `npm start`, `npm test` and `fairlead up --demo` ask --pre before they do anything.",
    )
    .option("--pre", "before a mesh is started: the machine")
    .option("--data <dir>", "data folder of the running `fairlead up`")
    .option("--kubeconfig <file>", "how to reach the API of a cluster")
    .option("--context <name>", "context of the kubeconfig")
    .option("-i, --istioNamespace <namespace>", "where the control plane is", "istio-system")
    .option("--category <name>", "only this category; may be repeated", collect, [])
    .option("--skip <name>", "not this category; may be repeated", collect, [])
    .option("--proxy [pod.namespace]", "only the proxies, or this one")
    .option("--wait <duration>", "check again for so long until all is well", "0s")
    .option("--test", "also what the tests need")
    .addOption(outputOption("short"))
    .addHelpText(
      "after",
      "\nEnds with status 1 if something is an error.\n\nExamples:\n  fairlead check\n  fairlead check --pre\n  fairlead check --context production --skip installation\n  fairlead check --proxy reviews-v1.default --wait 30s -o json\n",
    )
    .action(async (flags: CheckFlags) => exit(await check(flags, io)));
}

async function check(flags: CheckFlags, io: Io): Promise<number> {
  const waitMs = parseDurationMs(flags.wait);
  if (waitMs === undefined)
    throw new FairleadError("usage", `--wait: ${flags.wait} is not a duration`, { hint: "write it as 30s" });
  const look = await lookFor(flags, io);
  const { findings, command } = await untilWell(look, waitMs, io);
  const forms = {
    plain: () => `${formatFindings(findings, command).split("\n").map(printable).join("\n")}`,
    data: () => findings,
    names: () => findings.filter(({ state }) => state !== "ok").map(({ section, name }) => `${section}/${name}`),
  };
  io.out(parseOutput(flags.output, "short")(forms));
  return findings.some(({ state }) => state === "error") ? 1 : 0;
}

interface Looked {
  readonly findings: readonly Finding[];
  /** That gets what is missing. */
  readonly command?: string | undefined;
}

type Look = () => Promise<Looked>;

async function lookFor(flags: CheckFlags, io: Io): Promise<Look> {
  const chosen = (findings: readonly Finding[]): Looked => ({ findings: choose(findings, flags) });
  if (flags.pre || flags.test) {
    const machine = createMachine(io.env);
    const root = join(import.meta.dirname, "..");
    return async () => {
      const { findings } = chosen(await preflight(machine, { purpose: flags.test ? "test" : "demo", root }));
      return { findings, command: missingCommand(machine, findings) };
    };
  }
  const dir = standaloneDir(flags, io);
  const isNamed = [flags.kubeconfig, flags.context, io.env.KUBECONFIG].some((name = "") => name !== "");
  if (dir !== undefined || !isNamed) return async () => chosen(await checkMesh(dir ?? meshDataDir(flags, io)));
  const access = await clusterAccess(flags, io);
  return async () => chosen(await checkCluster({ access, namespace: flags.istioNamespace, signal: io.signal }));
}

const pauseMs = 1_000;

/** On a terminal one line tells what is waited for and is drawn anew; elsewhere only the last result is told. */
async function untilWell(look: Look, waitMs: number, io: Io): Promise<Looked> {
  const until = performance.now() + waitMs;
  for (;;) {
    const looked = await look();
    const bad = looked.findings.find(({ state }) => state !== "ok");
    if (io.errTty) io.err("\r\u001b[K");
    if (!bad || performance.now() >= until) return looked;
    if (io.errTty) io.err(printable(`waiting: ${bad.name}`));
    await wait(pauseMs, io.signal);
  }
}
