/** `fairlead ztunnel-config`: what a ztunnel has been told, from its dump, in istioctl's words and columns. */

import type { JsonValue } from "@bufbuild/protobuf";
import type { Command } from "commander";
import { FairleadError, fileLimits, parseJson } from "../lib/index.ts";
import type { Io } from "./command.ts";
import { printSortedYaml } from "./print.ts";
import { istioctlAction } from "./proxy-config/istioctl-action.ts";
import { parseFormat, printData } from "./proxy-config/output.ts";
import { fileSource } from "./proxy-config/source.ts";
import { parseZtunnelDump, type ZtunnelDump } from "./ztunnel-config/dump.ts";
import {
  viewCertificates,
  viewConnections,
  viewPolicies,
  viewServices,
  viewWorkloads,
  type ZtunnelFlags,
  type ZtunnelView,
} from "./ztunnel-config/views.ts";

interface Part {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly title: string;
  readonly options: readonly (readonly [string, string])[];
  readonly view: (dump: ZtunnelDump, flags: ZtunnelFlags, now: Date) => ZtunnelView;
}

const byNamespace = ["--workload-namespace <namespace>", "workloads of this namespace"] as const;

const parts: readonly Part[] = [
  {
    name: "workload",
    aliases: ["w", "workloads"],
    title: "WORKLOAD",
    options: [
      byNamespace,
      ["--address <address>", "workloads of this address"],
      ["--workload-node <node>", "workloads of this node"],
    ],
    view: viewWorkloads,
  },
  {
    name: "service",
    aliases: ["services", "s", "svc"],
    title: "SERVICE",
    options: [["--service-namespace <namespace>", "services of this namespace"]],
    view: viewServices,
  },
  {
    name: "policy",
    aliases: ["policies", "p", "pol"],
    title: "POLICY",
    options: [["--policy-namespace <namespace>", "policies of this namespace"]],
    view: viewPolicies,
  },
  {
    name: "certificate",
    aliases: ["certificates", "certs", "cert"],
    title: "SECRET",
    options: [],
    view: viewCertificates,
  },
  {
    name: "connections",
    aliases: ["cons"],
    title: "CONNECTIONS",
    options: [
      byNamespace,
      ["--direction <direction>", "inbound or outbound ones"],
      ["--raw", "addresses in place of names"],
    ],
    view: viewConnections,
  },
];

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  const parent = program
    .command("ztunnel-config")
    .alias("zc")
    .summary("Show the configuration in a ztunnel's dump")
    .addHelpText("after", "\nExample:\n  fairlead ztunnel-config workload -f ztunnel-dump.json\n");
  const action = istioctlAction(io, exit);
  for (const part of parts) {
    const command = addFlags(parent.command(part.name).aliases([...part.aliases])).summary(
      `Show the ${part.title.toLowerCase()} table`,
    );
    command.addHelpText("after", `\nExample:\n  fairlead ztunnel-config ${part.name} -f dump.json -o json\n`);
    for (const [flags, description] of part.options) command.option(flags, description);
    command.action((flags: ZtunnelFlags) =>
      action(async () => {
        const view = part.view(parseZtunnelDump(await readDump(flags, io)), flags, new Date());
        const format = parseFormat(flags.output ?? "short");
        // Read from JSON, hence JSON again.
        io.out(format === "short" ? view.short() : printData(view.data() as JsonValue, format));
      }),
    );
  }
  addFlags(parent.command("all"))
    .summary("Show everything in the dump")
    .addHelpText("after", "\nExample:\n  fairlead ztunnel-config all -f dump.json --with-headers\n")
    .option("--with-headers", "a heading above each table")
    .action((flags: ZtunnelFlags) => action(async () => printAll(await readDump(flags, io), flags, io)));
}

function addFlags(command: Command): Command {
  return command
    .option("-o, --output <format>", "how to print: short, json or yaml")
    .option("-f, --file <file>", "a dump that was saved before; - for standard input");
}

async function readDump({ file }: ZtunnelFlags, io: Io): Promise<string> {
  if (file === undefined)
    throw new FairleadError("usage", "ztunnel-config needs --file", {
      hint: "save a dump from port 15000 of a ztunnel, path /config_dump",
    });
  return fileSource(file, io).configDump("");
}

function printAll(text: string, flags: ZtunnelFlags, io: Io): void {
  const dump = parseZtunnelDump(text);
  const format = parseFormat(flags.output ?? "short");
  if (format === "json") io.out(`${text}\n`);
  else if (format === "yaml") io.out(`${printSortedYaml(parseJson(text, fileLimits))}\n`);
  else
    for (const { title, view } of parts) {
      io.out(flags.withHeaders ? `\n------ ${title} INFO ------\n\n` : "\n");
      io.out(view(dump, {}, new Date()).short());
    }
}
