/** `fairlead rehearse`: a cluster under istiod in; what Fairlead would send its proxies instead, and why, out. Only reads. */
import { type Command, Option } from "commander";
import { createStates, type States, summaryOf } from "../control-plane/index.ts";
import { type Risk, risks } from "../explain/index.ts";
import { type ClusterAccess, createKubeClient, type KubeClient } from "../kube/index.ts";
import { FairleadError } from "../lib/index.ts";
import type { KubeObject, Profile, Proxy } from "../model/index.ts";
import type { Renderer } from "../render/index.ts";
import { readApiObjects } from "./api-objects.ts";
import { type AccessFlags, clusterAccess } from "./cluster-access.ts";
import { collect, type Io } from "./command.ts";
import { parseRisks } from "./diff/risks.ts";
import { endAsDiff } from "./end-as-diff.ts";
import { outputOption, parseOutput } from "./output.ts";
import { profileOption } from "./profile-option.ts";
import { createProgress, type Progress } from "./progress.ts";
import { createProtoJson } from "./proxy-config/proto-json.ts";
import { blame } from "./rehearse/blame.ts";
import { createCanonical } from "./rehearse/canonical.ts";
import { findIstiod, type IstiodSettings } from "./rehearse/istiod-pods.ts";
import { openIstiods } from "./rehearse/open-istiods.ts";
import { type Rehearsal, rehearse } from "./rehearse/rehearsal.ts";
import { type RehearsalReport, reportData, textReport } from "./rehearse/report.ts";

export interface RehearseFlags extends AccessFlags {
  readonly xds?: string;
  readonly address?: string;
  readonly istioNamespace: string;
  readonly revision?: string;
  readonly proxy: readonly string[];
  readonly failOn?: readonly Risk[];
  readonly resources: boolean;
  readonly profile: Profile;
  readonly output: string;
}

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  program
    .command("rehearse")
    .summary("Compare what a cluster's istiod sends its proxies with what Fairlead would send them")
    .description(
      "Reads a cluster that istiod serves, works out what Fairlead would send each of its proxies, asks istiod what it\n" +
        "sends them, and says what is different and which object made it. Nothing is written.",
    )
    .option("--kubeconfig <file>", "how to reach the API")
    .option("--context <name>", "context of the kubeconfig")
    .option("--xds <addr>", "ask over xDS as each Pod's proxy, at istiod's plaintext port")
    .option("--address <addr>", "istiod's debug paths are here, such as at a port-forward to 15014")
    .option("-i, --istioNamespace <namespace>", "namespace of istiod", "istio-system")
    .option("-r, --revision <name>", "which istiod, where there are several revisions")
    .option("--proxy <pod.namespace>", "only for this proxy; may be repeated", collect, [])
    .addOption(new Option("--fail-on <risks>", `end with 1 only for these: ${risks.join(",")}`).argParser(parseRisks))
    .option("--resources", "show all fields of all resources that differ", false)
    .addOption(profileOption("which filters the Envoys have"))
    .addOption(outputOption("text"))
    .addHelpText(
      "after",
      "\nIstiod is asked through a port-forward to its Pods, for the\n" +
        "proxies that are connected to it. docs/rehearse.md lists the\n" +
        "rights that this needs.\n\n" +
        "Ends with status 0 if all is equal, 1 if something differs\n" +
        "(with --fail-on: something of that sort), 2 if it cannot be\n" +
        "said.\n\n" +
        "Examples:\n" +
        "  fairlead rehearse --context production\n" +
        "  fairlead rehearse --proxy productpage-1.default --resources\n" +
        "  kubectl -n istio-system port-forward deploy/istiod 15010 & fairlead rehearse --xds 127.0.0.1:15010\n",
    )
    .action((flags: RehearseFlags) => endAsDiff(compare(flags, io), io, exit));
}

async function compare(flags: RehearseFlags, io: Io): Promise<number> {
  const access = await clusterAccess(flags, io);
  const client = createKubeClient(access);
  const progress = createProgress(io);
  try {
    const report = await reportOf(flags, { access, client, progress, io });
    progress.end();
    const forms = {
      plain: (wide: boolean) => textReport(report, { isFull: flags.resources || wide }),
      data: () => reportData(report),
      names: () => report.classes.flatMap(({ proxies }) => proxies),
    };
    io.out(parseOutput(flags.output, "text")(forms));
    return (flags.failOn === undefined ? report.differences.length > 0 : report.failed.length > 0) ? 1 : 0;
  } finally {
    progress.end();
    client.close();
  }
}

interface Looking {
  readonly access: ClusterAccess;
  readonly client: KubeClient;
  readonly progress: Progress;
  readonly io: Io;
}

async function reportOf(flags: RehearseFlags, looking: Looking): Promise<RehearsalReport> {
  const { access, progress, io } = looking;
  progress.say(`reading ${access.server}`);
  const objects = await readWhole(looking);
  const settings = findIstiod(objects, flags);
  const protos = await createProtoJson();
  const istiods = openIstiods({ access, settings, flags, protos, signal: io.signal });
  const states = createStates({ objects, meshConfig: undefined, settings });
  if (objects.some(({ kind }) => kind === "EnvoyFilter")) await states.loadPatches();
  const canonical = createCanonical(protos);
  const onAsked = (done: number, all: number): void => progress.say(`asked istiod for ${done} of ${all} proxies`);
  const look = (wants: (proxy: Proxy) => boolean): Promise<Rehearsal> =>
    rehearse({ states, istiods, choice: { profile: flags.profile }, canonical, onAsked, wants });
  try {
    const first = await look(wantedProxies(flags.proxy));
    if (first.proxies.length === 0) throw noProxy(flags, states, settings);
    const { rehearsal, current } = await again(first, objects, states, looking, look);
    const { change, sentOf } = rehearsal;
    const summary = summaryOf(change);
    const rendererFor = (proxy: string): Renderer | undefined => {
      const sent = sentOf(proxy);
      return sent && states.rendererOf(sent);
    };
    return {
      ...summary,
      istiod: istiods.map(({ at }) => at),
      proxies: first.proxies.length,
      resources: first.resources,
      ...blame({ change, canonical, objects: current, rendererFor }),
      warnings: states.problems(),
      notes: notesOf(first, flags, states, settings),
      failed: (flags.failOn ?? []).filter((risk) => summary.sentences.some((one) => one.risk === risk)),
    };
  } finally {
    for (const istiod of istiods) istiod.close();
  }
}

async function readWhole({ client, access, io }: Looking): Promise<readonly KubeObject[]> {
  try {
    return await readApiObjects(client, { io, at: access.server, isWhole: true });
  } catch (error) {
    const { code, message } = FairleadError.from(error);
    if (code !== "forbidden") throw error;
    throw new FairleadError("forbidden", message, {
      hint: "what was read in part cannot be compared; docs/rehearse.md has a ClusterRole with all that is needed",
      cause: error,
    });
  }
}

/** A cluster changes while it is read: what is told to differ has been seen twice. */
async function again(
  first: Rehearsal,
  objects: readonly KubeObject[],
  states: States,
  looking: Looking,
  look: (only: (proxy: Proxy) => boolean) => Promise<Rehearsal>,
): Promise<{ readonly rehearsal: Rehearsal; readonly current: readonly KubeObject[] }> {
  if (first.change.groups.length === 0) return { rehearsal: first, current: objects };
  looking.progress.say("looking again at what differs");
  const current = await readWhole(looking);
  states.moveTo(current);
  const differing = new Set(first.change.groups.flatMap(({ proxies }) => proxies));
  return { rehearsal: await look(({ name, namespace }) => differing.has(`${name}.${namespace}`)), current };
}

function wantedProxies(names: readonly string[]): (proxy: Proxy) => boolean {
  if (names.length === 0) return () => true;
  const wanted = new Set(names);
  return ({ name, namespace }) => wanted.has(`${name}.${namespace}`);
}

function noProxy(flags: RehearseFlags, states: States, { pods }: IstiodSettings): FairleadError {
  const known = states.offline.proxies().map(({ name, namespace }) => `${name}.${namespace}`);
  if (flags.proxy.length > 0)
    return new FairleadError("not-found", `istiod knows no proxy that is called ${flags.proxy.join(" or ")}`, {
      hint:
        known.length === 0
          ? "no Pod has a proxy"
          : `there is ${known.slice(0, 8).join(", ")}${known.length > 8 ? ", …" : ""}`,
    });
  if (flags.xds !== undefined)
    return new FairleadError("not-found", "no Pod of the cluster has a proxy: a container named istio-proxy");
  const where = pods.map(({ name, namespace }) => `${namespace}/${name}`).join(", ") || flags.address;
  return new FairleadError("not-found", `no proxy is connected to istiod (${where})`, {
    hint:
      known.length === 0
        ? "no Pod has a proxy: a container named istio-proxy"
        : "--xds asks in the name of each Pod's proxy instead",
  });
}

function notesOf(
  { fetchedKeys, proxies }: Rehearsal,
  flags: RehearseFlags,
  states: States,
  { pods, environment }: IstiodSettings,
): readonly string[] {
  const connected = new Set(proxies);
  const absent = states.offline
    .proxies()
    .filter(wantedProxies(flags.proxy))
    .map(({ name, namespace }) => `${name}.${namespace}`)
    .filter((name) => !connected.has(name));
  return [
    ...(fetchedKeys > 0 ? ["keys of issuers are fetched by istiod and were not compared"] : []),
    ...(absent.length > 0
      ? [
          `${absent.length === 1 ? "1 Pod with a proxy is" : `${absent.length} Pods with proxies are`} not connected to this istiod and ${absent.length === 1 ? "was" : "were"} left out: ${absent.slice(0, 5).join(", ")}${absent.length > 5 ? ", …" : ""}`,
        ]
      : []),
    ...(environment.length > 0
      ? [`istiod runs with ${environment.join(", ")}: what only these make different has no object behind it`]
      : []),
    ...(pods.length === 0 ? ["no Pod of istiod was found: revision default, domain cluster.local"] : []),
    ...(flags.xds === undefined
      ? []
      : ["proxies are as their Pods say: what only a running proxy knows of itself is left at its default"]),
  ];
}
