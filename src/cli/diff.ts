/** `fairlead diff`: a change of objects in; what it would change in Envoys, in words and with counts, out. Nothing is written. */
import { type Command, Option } from "commander";
import { type Risk, risks } from "../explain/index.ts";
import { FairleadError } from "../lib/index.ts";
import type { Profile, Proxy } from "../model/index.ts";
import { createJsonPrinter } from "../render/index.ts";
import { collect, type Io } from "./command.ts";
import { readDiffInput } from "./diff/input.ts";
import { withoutEffect } from "./diff/no-effect.ts";
import { propose } from "./diff/proposal.ts";
import { type DiffReport, isEmpty, reportData, textReport } from "./diff/report.ts";
import { resourceDiffs } from "./diff/resource-diff.ts";
import { parseRisks } from "./diff/risks.ts";
import { compareStates, createStates } from "./diff/states.ts";
import { summaryOf } from "./diff/summary.ts";
import { endAsDiff, failed } from "./end-as-diff.ts";
import { outputOption, parseOutput } from "./output.ts";
import { profileOption } from "./profile-option.ts";
import { completed, numbersOf } from "./why/stand-ins.ts";

interface DiffFlags {
  readonly filename: readonly string[];
  readonly delete: readonly string[];
  readonly prune: boolean;
  readonly base: readonly string[];
  readonly proxy: readonly string[];
  readonly allNamespaces: boolean;
  readonly namespace: string;
  readonly failOn?: readonly Risk[];
  readonly resources: boolean;
  readonly profile: Profile;
  readonly againstProfile?: Profile;
  readonly againstVersion?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly output: string;
}

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  program
    .command("diff")
    .summary("Say what a change of objects would change in the proxies, before it is applied")
    .description(
      "Works out what all proxies are sent now and would be sent after the change, and tells the difference in words, with\n" +
        "the number of proxies that it reaches. The objects are those of the API, or of files (--base). Nothing is written.",
    )
    .option(
      "-f, --filename <path>",
      "files or folders that would be applied; - is standard input; may be repeated",
      collect,
      [],
    )
    .option(
      "--delete <path|type/name>",
      "what would be deleted: a file's objects, or TYPE/NAME; may be repeated",
      collect,
      [],
    )
    .option("--prune", "objects of --base that are not in -f would be deleted", false)
    .option("--base <path>", "a file or folder instead of the API's objects; may be repeated", collect, [])
    .option("--proxy <pod.namespace>", "only for this proxy; may be repeated", collect, [])
    .option("-A, --all-namespaces", "for all proxies, which is the default", false)
    .option("-n, --namespace <namespace>", "of objects that name none", "default")
    .addOption(new Option("--fail-on <risks>", `end with 1 only for these: ${risks.join(",")}`).argParser(parseRisks))
    .option("--resources", "also show the fields of Envoy's resources before and after", false)
    .addOption(profileOption("which filters the Envoys have"))
    .addOption(
      new Option("--against-profile <profile>", "compare with Envoys of this profile").choices([
        "istio-proxy",
        "envoy",
      ]),
    )
    .option("--against-version <version>", "compare with proxies of this version of Istio, such as 1.30.0")
    .option("--kubeconfig <file>", "how to reach the API")
    .option("--context <name>", "context of the kubeconfig")
    .addOption(outputOption("text"))
    .addHelpText(
      "after",
      "\nA line that begins with ! can hurt: requests that may be\n" +
        "refused (deny), servers that are lost (lost-endpoint), and\n" +
        "encryption that changes (mtls).\n\n" +
        "Ends with status 0 if nothing changes, 1 if something does\n" +
        "(with --fail-on: something of that sort), 2 if the change\n" +
        "cannot be read or would be refused.\n\n" +
        "Examples:\n" +
        "  fairlead diff -f reviews-v2.yaml\n" +
        "  fairlead diff --base main/ -f branch/ --prune --fail-on deny,lost-endpoint,mtls\n" +
        "  fairlead diff --delete virtualservice/reviews --proxy productpage-1.default --resources\n" +
        "  kustomize build . | fairlead diff -f - -o json\n" +
        "  fairlead diff --against-version 1.30.0\n",
    )
    .action((flags: DiffFlags) => endAsDiff(diff(flags, io), io, exit));
}

async function diff(flags: DiffFlags, io: Io): Promise<number> {
  const { againstProfile, againstVersion } = flags;
  const isUpgrade = againstProfile !== undefined || againstVersion !== undefined;
  if (flags.filename.length + flags.delete.length === 0 && !isUpgrade)
    throw new FairleadError("usage", "name the change with -f FILE or --delete TYPE/NAME", {
      hint: "`fairlead diff --help` has examples",
    });
  if (againstVersion !== undefined && !/^\d+\.\d+(\.\d+)?$/.test(againstVersion))
    throw new FairleadError("usage", `${againstVersion} is no version`, { hint: "write it as 1.30.0" });
  const input = await readDiffInput(flags, io);
  const proposal = await propose(input.base, input.change);
  const numbers = numbersOf([...input.base, ...input.change.wanted]);
  const before = completed(input.base, numbers);
  const after = completed(proposal.after, numbers);
  const states = await createStates({
    objects: before.objects,
    meshConfig: input.meshConfig,
    patches: [...input.base, ...proposal.after].some(({ kind }) => kind === "EnvoyFilter"),
    wants: wantedProxies(flags.proxy),
  });
  const choice = { profile: flags.profile };
  const was = states.take(choice);
  const problems = new Set(states.problems());
  states.moveTo(after.objects);
  const nextChoice = {
    profile: againstProfile ?? flags.profile,
    ...(againstVersion === undefined ? {} : { istioVersion: againstVersion }),
  };
  const now = states.take(nextChoice);
  if (was.size + now.size === 0) throw noProxy(flags.proxy, states.offline.proxies());
  const change = compareStates(was, now);
  const summary = summaryOf(change);
  const report: DiffReport = {
    ...summary,
    proxies: now.size,
    added: change.added,
    removed: change.removed,
    refused: proposal.refused,
    ignored: [
      ...proposal.ignored,
      ...withoutEffect({
        states,
        base: input.base,
        proposal,
        numbers,
        now,
        choice: nextChoice,
        isQuiet: change.groups.length + change.added.length + change.removed.length === 0,
      }),
    ],
    warnings: [
      ...proposal.warnings,
      ...states
        .problems()
        .filter((text) => !problems.has(text))
        .map(toldOf),
    ],
    notes: [...input.notes, ...new Set([...before.notes, ...after.notes])],
    failed: (flags.failOn ?? []).filter((risk) => summary.sentences.some((one) => one.risk === risk)),
    resources: flags.resources ? resourceDiffs(change, createJsonPrinter()) : [],
  };
  io.out(
    parseOutput(
      flags.output,
      "text",
    )({
      plain: () => textReport(report),
      data: () => reportData(report),
      names: () => [...report.classes.flatMap(({ proxies }) => proxies), ...report.added, ...report.removed],
    }),
  );
  if (report.refused.length > 0) return failed;
  return (flags.failOn === undefined ? !isEmpty(report) : report.failed.length > 0) ? 1 : 0;
}

/** `Kind/ns/name field: message`, as problems are put in words. */
function toldOf(text: string): { readonly object: string; readonly message: string } {
  const [, object = "", message = text] = /^(\S+?):? (.*)$/s.exec(text) ?? [];
  return { object, message };
}

function wantedProxies(names: readonly string[]): (proxy: Proxy) => boolean {
  if (names.length === 0) return () => true;
  const wanted = new Set(names);
  return ({ name, namespace }) => wanted.has(`${name}.${namespace}`);
}

function noProxy(wanted: readonly string[], proxies: readonly Proxy[]): FairleadError {
  const known = proxies.map(({ name, namespace }) => `${name}.${namespace}`);
  return new FairleadError(
    "not-found",
    wanted.length > 0 ? `no proxy is called ${wanted.join(" or ")}` : "there is no proxy",
    {
      hint:
        known.length === 0
          ? "no Pod has a container named istio-proxy, and there is no Deployment or Service that one could stand for"
          : `there is ${known.slice(0, 8).join(", ")}${known.length > 8 ? ", …" : ""}`,
    },
  );
}
