/** `fairlead proxy-config`: what an Envoy has been told, in istioctl's words, flags and columns. */
import type { Command } from "commander";
import { FairleadError } from "../lib/index.ts";
import type { Io } from "./command.ts";
import { printAll } from "./proxy-config/all.ts";
import { addViewFlags, type ProxyConfigFlags } from "./proxy-config/flags.ts";
import { type Action, istioctlAction } from "./proxy-config/istioctl-action.ts";
import { type ConfigKind, configKinds } from "./proxy-config/kinds.ts";
import { addLogCommand } from "./proxy-config/log.ts";
import { parseFormat, printView } from "./proxy-config/output.ts";
import { addRootCompareCommand } from "./proxy-config/rootca-compare.ts";
import { type DumpSource, fileSource, podSource } from "./proxy-config/source.ts";
import type { Why } from "./proxy-config/view.ts";

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  const parent = program
    .command("proxy-config")
    .alias("pc")
    .summary("Show the configuration that an Envoy has")
    .description("What an Envoy has been told: of a Pod of the standalone mesh, or from a file.")
    .option("-o, --output <format>", "how to print: short, json or yaml; of one kind also name and jsonpath=…")
    .addHelpText(
      "after",
      "\nExamples:\n  sudo fairlead proxy-config cluster reviews-v1 --port 9080\n  fairlead pc route productpage-v1 --why\n  fairlead pc listener -f dump.json -o yaml\n",
    );
  const action = istioctlAction(io, exit);
  for (const kind of configKinds) addKind(parent, kind, io, action);
  addAll(parent, io, action);
  addLogCommand(parent, io, action);
  addRootCompareCommand(parent, io, action);
}

function addKind(parent: Command, kind: ConfigKind, io: Io, action: Action): void {
  const command = parent
    .command(kind.name, kind.hidden ? { hidden: true } : {})
    .aliases([...kind.aliases])
    .summary(kind.summary)
    .argument("[pod]", "[type/]name[.namespace]")
    .addHelpText(
      "after",
      `\nExamples:\n  fairlead pc ${kind.name} productpage-v1-1.default\n  fairlead pc ${kind.name} -f dump.json -o json\n`,
    );
  addViewFlags(command, kind.filters).action((pod: string | undefined, flags: ProxyConfigFlags) =>
    action(async () => {
      const source = await openSource(kind.name, pod, flags, io);
      const view = await kind.load(source, flags, await whyOf(source, flags, io));
      const format = flags.output ?? parent.opts<ProxyConfigFlags>().output ?? kind.defaultFormat;
      io.out(printView(view, format, "alone"));
    }),
  );
}

function addAll(parent: Command, io: Io, action: Action): void {
  const command = parent
    .command("all")
    .alias("a")
    .summary("Show everything that Envoy has been told")
    .argument("[pod]", "[type/]name[.namespace]")
    .addHelpText("after", "\nExample:\n  fairlead pc all productpage-v1-1.default -o json\n");
  addViewFlags(command, [
    "withHeaders",
    "verbose",
    "noVerbose",
    "fqdn",
    "direction",
    "subset",
    "port",
    "address",
    "type",
    "name",
  ]).action((pod: string | undefined, flags: ProxyConfigFlags) =>
    action(async () => {
      const format = parseFormat(flags.output ?? parent.opts<ProxyConfigFlags>().output ?? "short");
      await printAll(await openSource("all", pod, flags, io), flags, format, (text) => io.out(text));
    }),
  );
}

/** Worked out only where it is asked for: it takes the API's objects and a rendering. */
async function whyOf({ pod }: DumpSource, flags: ProxyConfigFlags, io: Io): Promise<Why | undefined> {
  if (flags.why !== true) return undefined;
  if (!pod)
    throw new FairleadError("usage", "--why needs a Pod: a dump does not say what it was made from", {
      hint: "name the Pod instead of --file",
    });
  const { whyColumn } = await import("./why/column.ts");
  return whyColumn(pod, flags, io);
}

async function openSource(kind: string, pod: string | undefined, flags: ProxyConfigFlags, io: Io): Promise<DumpSource> {
  if ((pod === undefined) === (flags.file === undefined))
    throw new FairleadError("usage", `${kind} requires pod name or --file parameter`);
  return flags.file === undefined ? podSource(pod ?? "", flags, io) : fileSource(flags.file, io);
}
