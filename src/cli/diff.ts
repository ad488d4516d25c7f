/** `fairlead diff`: a change of objects in; what it would change in Envoys, in words and with counts, out. Nothing is written. */
import { type Command, Option } from "commander";
import { completed, createDiffer } from "../control-plane/index.ts";
import { type Risk, risks } from "../explain/index.ts";
import { FairleadError } from "../lib/index.ts";
import type { Profile } from "../model/index.ts";
import type { DiffAnswer, DiffQuestion } from "../read-api/index.ts";
import { collect, type Io } from "./command.ts";
import { readBase, readChange, type WrittenChange } from "./diff/input.ts";
import { type DiffReport, isEmpty, reportData, textReport } from "./diff/report.ts";
import { parseRisks } from "./diff/risks.ts";
import { endAsDiff, failed } from "./end-as-diff.ts";
import { answerOrThrow, askLivePlane, type LiveFlags, withLiveOptions } from "./live-plane.ts";
import { outputOption, parseOutput } from "./output.ts";

interface DiffFlags extends LiveFlags {
  readonly filename: readonly string[];
  readonly delete: readonly string[];
  readonly prune: boolean;
  readonly base: readonly string[];
  readonly proxy: readonly string[];
  readonly allNamespaces: boolean;
  readonly namespace: string;
  readonly failOn?: readonly Risk[];
  readonly resources: boolean;
  readonly profile?: Profile;
  readonly againstProfile?: Profile;
  readonly againstVersion?: string;
  readonly output: string;
}

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  withLiveOptions(program.command("diff"))
    .summary("Say what a change of objects would change in the proxies, before it is applied")
    .description(
      "Works out what all proxies are sent now and would be sent after the change, and tells the difference in words, with\n" +
        "the number of proxies that it reaches. The objects are those of the API, or of files (--base). Nothing is written.\n" +
        "The running control plane is asked; where there is none, all is worked out from the objects.",
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
    .addOption(
      new Option("--against-profile <profile>", "compare with Envoys of this profile").choices([
        "istio-proxy",
        "envoy",
      ]),
    )
    .option("--against-version <version>", "compare with proxies of this version of Istio, such as 1.30.0")
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
  const change = await readChange(flags, io);
  const answer = (await askLive(change, flags, io)) ?? (await workOut(change, flags, io));
  const report: DiffReport = {
    ...answer,
    notes: [...change.notes, ...answer.notes],
    failed: (flags.failOn ?? []).filter((risk) => answer.sentences.some((one) => one.risk === risk)),
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

/** Of files, or of Envoys other than those that are connected, no control plane knows. */
async function askLive(change: WrittenChange, flags: DiffFlags, io: Io): Promise<DiffAnswer | undefined> {
  const { base, profile, againstProfile, againstVersion } = flags;
  if (base.length > 0 || [profile, againstProfile, againstVersion].some((own) => own !== undefined)) return undefined;
  const question: DiffQuestion = {
    objects: JSON.stringify({ apiVersion: "v1", kind: "List", items: change.wanted }),
    deleted: change.deleted,
    proxies: flags.proxy,
    resources: flags.resources,
  };
  return answerOrThrow<DiffAnswer>(await askLivePlane(flags, "diffz", question, io));
}

async function workOut(change: WrittenChange, flags: DiffFlags, io: Io): Promise<DiffAnswer> {
  const { profile = "istio-proxy", againstProfile = profile, againstVersion } = flags;
  const input = await readBase(change, flags, io);
  return createDiffer({ meshConfig: input.meshConfig, complete: completed }).diff({
    ...{ base: input.base, change: input.change, wanted: flags.proxy, resources: flags.resources },
    before: { profile },
    after: { profile: againstProfile, ...(againstVersion === undefined ? {} : { istioVersion: againstVersion }) },
  });
}
