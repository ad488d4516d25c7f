/** `fairlead workload group create|entry configure`: what machines outside Kubernetes join with, as `istioctl x workload` has it. */
import type { Command } from "commander";
import { createKubeClient } from "../kube/index.ts";
import { FairleadError } from "../lib/index.ts";
import { workloadGroup } from "../model/index.ts";
import { type AccessFlags, clusterAccess } from "./cluster-access.ts";
import type { Io } from "./command.ts";
import { printSortedYaml } from "./print.ts";
import type { ConfigureFlags } from "./workload/configure.ts";

const createExample = "  fairlead workload group create --name vm --namespace shop --labels app=vm\n";
const configureExample = "  fairlead workload entry configure -f group.yaml -o machine/\n";

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  const workload = program
    .command("workload")
    .summary("Prepare machines outside Kubernetes for joining the mesh")
    .description("WorkloadGroups for machines, and the files that a machine joins with.")
    .addHelpText("after", `\nExamples:\n${createExample}${configureExample}`);
  const group = workload.command("group").description("Deals with WorkloadGroups.");
  registerCreate(group.addHelpText("after", `\nExample:\n${createExample}`), io, exit);
  const entry = workload.command("entry").description("Deals with single machines.");
  registerConfigure(entry.addHelpText("after", `\nExample:\n${configureExample}`), io, exit);
}

interface CreateFlags {
  readonly name: string;
  readonly namespace: string;
  readonly labels: readonly string[];
  readonly annotations: readonly string[];
  readonly ports: readonly string[];
  readonly serviceAccount: string;
  readonly network?: string;
  readonly locality?: string;
  readonly weight?: string;
}

const list = (value: string, before: readonly string[]): readonly string[] => [...before, ...value.split(",")];

function registerCreate(group: Command, io: Io, exit: (status: number) => void): void {
  group
    .command("create")
    .description("Prints a WorkloadGroup, the template of machines that register themselves.")
    .requiredOption("--name <name>", "name of the group")
    .requiredOption("-n, --namespace <namespace>", "namespace that its machines belong to")
    .option("-l, --labels <labels>", "labels of its machines, such as app=db,version=v1", list, [])
    .option("-a, --annotations <annotations>", "annotations of its machines", list, [])
    .option("-p, --ports <ports>", "ports that they serve, such as http=8080", list, [])
    .option("-s, --serviceAccount <name>", "who they are", "default")
    .option("--network <name>", "network that they are in")
    .option("--locality <locality>", "where they are, as region/zone/subzone")
    .option("-w, --weight <number>", "how much of the load each gets")
    .addHelpText(
      "after",
      "\nExample:\n  fairlead workload group create --name db -n shop --labels app=db --ports mysql=3306\n",
    )
    .action((flags: CreateFlags) => {
      io.out(printSortedYaml(groupObject(flags)));
      exit(0);
    });
}

function groupObject(flags: CreateFlags): unknown {
  const [labels, annotations] = [pairs(flags.labels), pairs(flags.annotations)];
  const ports = Object.entries(pairs(flags.ports)).map(([name, port]) => [name, wholeNumber("--ports", port)]);
  return {
    apiVersion: `${workloadGroup.group}/v1`,
    kind: workloadGroup.kind,
    metadata: { name: flags.name, namespace: flags.namespace },
    spec: {
      metadata: { ...ifAny("labels", labels), ...ifAny("annotations", annotations) },
      template: {
        ...ifAny("ports", Object.fromEntries(ports)),
        serviceAccount: flags.serviceAccount,
        ...(flags.network ? { network: flags.network } : {}),
        ...(flags.locality ? { locality: flags.locality } : {}),
        ...(flags.weight ? { weight: wholeNumber("--weight", flags.weight) } : {}),
      },
    },
  };
}

const ifAny = (name: string, value: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.keys(value).length === 0 ? {} : { [name]: value };

function pairs(texts: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.indexOf("=");
      return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
    }),
  );
}

function wholeNumber(flag: string, text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new FairleadError("usage", `${flag}: ${text} is not a whole number`);
  return Number(text);
}

function registerConfigure(entry: Command, io: Io, exit: (status: number) => void): void {
  entry
    .command("configure")
    .description("Writes what a machine needs to join: mesh.yaml, cluster.env, root-cert.pem, istio-token, hosts.")
    .option("-f, --file <file>", "file with the WorkloadGroup; without it the API's is taken")
    .option("--name <name>", "name of the WorkloadGroup")
    .option("-n, --namespace <namespace>", "namespace of the WorkloadGroup")
    .requiredOption("-o, --output <folder>", "where the files go")
    .option("--clusterID <id>", "name of the cluster")
    .option("--tokenDuration <seconds>", "life of the token", "3600")
    .option(
      "--ingressService <service>",
      "gateway that leads to the control plane, as NAME.NAMESPACE",
      "istio-eastwestgateway",
    )
    .option("--ingressIP <address>", "its address")
    .option("--autoregister", "make the WorkloadEntry when the machine connects")
    .option("--no-capture-dns", "leave questions about names to the machine's own servers")
    .option("--capture-dns [bool]", "accepted for istioctl's sake", (text: string) => text !== "false", true)
    .option("--internalIP <address>", "the machine's address inside the network")
    .option("--externalIP <address>", "the machine's address from outside")
    .option("-i, --istioNamespace <namespace>", "namespace of the control plane", "istio-system")
    .option("-r, --revision <name>", "revision of the control plane")
    .option("--kubeconfig <file>", "how to reach the API")
    .option("--context <name>", "context of the kubeconfig")
    .addHelpText("after", "\nExample:\n  fairlead workload entry configure --name db -n shop --autoregister -o vm\n")
    .action(async (flags: ConfigureFlags & AccessFlags) => {
      checkFlags(flags);
      const { configureEntry } = await import("./workload/configure.ts");
      const client = createKubeClient(await clusterAccess(flags, io));
      try {
        exit(await configureEntry(client, flags, io));
      } finally {
        client.close();
      }
    });
}

function checkFlags(flags: ConfigureFlags): void {
  if (flags.file === undefined && (flags.name === undefined || flags.namespace === undefined))
    throw new FairleadError(
      "usage",
      "expecting a WorkloadGroup artifact file or the name and namespace of an existing WorkloadGroup",
      { hint: "give -f FILE, or --name and --namespace" },
    );
  if (flags.internalIP && flags.externalIP)
    throw new FairleadError("usage", "the flags --internalIP and --externalIP are mutually exclusive");
  wholeNumber("--tokenDuration", flags.tokenDuration);
}
