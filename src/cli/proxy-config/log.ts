/** `fairlead proxy-config log`: shows the levels of an Envoy's loggers, and sets them. */
import type { Command } from "commander";
import { FairleadError } from "../../lib/index.ts";
import type { Io } from "../command.ts";
import { addTargetFlags } from "./flags.ts";
import type { Action } from "./istioctl-action.ts";
import { podAdmins, type SourceFlags } from "./source.ts";

interface LogFlags extends SourceFlags {
  readonly level?: string;
  readonly reset?: boolean;
  readonly selector?: string;
}

const levels: readonly string[] = ["trace", "debug", "info", "warning", "error", "critical", "off"];

export function addLogCommand(parent: Command, io: Io, action: Action): void {
  const command = parent
    .command("log")
    .alias("o")
    .summary("Show and set the levels of Envoy's loggers")
    .argument("[pod]", "[type/]name[.namespace]")
    .option("--level <levels>", `level of all loggers, or logger:level,…; one of ${levels.join(", ")}`)
    .option("-r, --reset", "all loggers back to warning")
    .option("-l, --selector <labels>", "every Pod with these labels")
    .addHelpText("after", "\nExample:\n  fairlead proxy-config log reviews-v1 --level http:debug,rbac:debug\n");
  addTargetFlags(command).action((pod: string | undefined, flags: LogFlags) => action(() => setLevels(pod, flags, io)));
}

async function setLevels(pod: string | undefined, flags: LogFlags, io: Io): Promise<void> {
  const target = flags.selector === undefined ? pod : { selector: flags.selector };
  if (target === undefined) throw new FairleadError("usage", "log requires pod name or --selector");
  if (flags.reset && flags.level !== undefined)
    throw new FairleadError("usage", "--level cannot be combined with --reset");
  const wanted = flags.reset ? ["level=warning"] : parseLevels(flags.level ?? "");
  const admins = await podAdmins(target, flags, io);
  if (admins.length === 0) throw new FairleadError("not-found", "no pods found");
  for (const { pod: found, ask } of admins) {
    let answer = await ask("POST", "logging");
    for (const query of wanted) {
      const [logger = ""] = query.split("=");
      if (logger !== "level" && !answer.split("\n").some((line) => line.trim().startsWith(`${logger}:`)))
        throw new FairleadError("invalid", `unrecognized logger name: ${logger}`);
      answer = await ask("POST", `logging?${query}`);
    }
    io.out(`${found.name}.${found.namespace}:\n${answer}`);
  }
}

/** The level of all loggers is set first, since it would undo the others. */
export function parseLevels(text: string): readonly string[] {
  const queries = text
    .split(",")
    .filter((part) => part !== "")
    .map((part) => {
      const [, logger = "level", level = ""] = /^(?:(?:.*::)?([a-z0-9_]+)[:=])?([^:=]*)$/.exec(part) ?? [];
      const name = level === "warn" ? "warning" : level;
      if (!levels.includes(name)) throw new FairleadError("invalid", `unrecognized logging level: ${level || part}`);
      return `${logger}=${name}`;
    });
  const isAll = (query: string): boolean => query.startsWith("level=");
  return [...queries.filter(isAll).slice(-1), ...queries.filter((query) => !isAll(query))];
}
