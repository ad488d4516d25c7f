/** `fairlead version`: which Fairlead this is, and which Istio it stands in for. */
import { type Command, Option } from "commander";
import { fairleadVersion, istioVersion } from "../model/index.ts";
import type { Io } from "./command.ts";
import { versionLine } from "./version-line.ts";

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  program
    .command("version")
    .summary("Show the version")
    .addOption(new Option("-o, --output <format>", "how to print").choices(["table", "json", "yaml"]).default("table"))
    .action(async (flags: { readonly output: string }) => {
      const version = { fairlead: fairleadVersion, istio: istioVersion, node: process.versions.node };
      if (flags.output === "json") io.out(`${JSON.stringify(version)}\n`);
      else if (flags.output === "yaml") io.out((await import("./print.ts")).printYaml(version));
      else io.out(`${versionLine()}\n`);
      exit(0);
    });
}
