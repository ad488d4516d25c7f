/** The words of a command line so far in; those that may stand in the place of the last one out. */
import type { Command, Option } from "commander";
import type { NameQuestion } from "./names.ts";
import { typeNames } from "./names.ts";

export type Ask = (question: NameQuestion) => Promise<readonly string[]>;

/** What the words before the last one have led to. */
interface Place {
  readonly command: Command;
  /** Arguments that are no options. */
  readonly given: readonly string[];
  /** An option that waits for its value. */
  readonly open: Option | undefined;
  readonly values: ReadonlyMap<string, string>;
}

export async function completeWords(program: Command, words: readonly string[], ask: Ask): Promise<readonly string[]> {
  const last = words.at(-1) ?? "";
  const place = walk(program, words.slice(0, -1));
  const found = await candidates(place, last, ask);
  return [...new Set(found)].filter((word) => word.startsWith(last) && isPlain(word)).sort();
}

/** Names come from an API; a shell is handed none that it could take for more than a word. */
const isPlain = (word: string): boolean => /^[\w.:@=+-]+$/.test(word);

function walk(program: Command, words: readonly string[]): Place {
  let command = program;
  let open: Option | undefined;
  const given: string[] = [];
  const values = new Map<string, string>();
  for (const word of words) {
    if (open) {
      values.set(open.attributeName(), word);
      open = undefined;
      continue;
    }
    if (word.startsWith("-")) {
      const [name = "", value] = word.split("=", 2);
      const option = optionsOf(command).find((one) => one.long === name || one.short === name);
      if (option && value !== undefined) values.set(option.attributeName(), value);
      else if (option && (option.required || option.optional)) open = option;
      continue;
    }
    const child: Command | undefined = given.length === 0 ? childOf(command, word) : undefined;
    if (child) command = child;
    else given.push(word);
  }
  return { command, given, open, values };
}

const childOf = (command: Command, word: string): Command | undefined =>
  command.commands.find((one) => one.name() === word || one.aliases().includes(word));

/** Its own, and those of the commands that it stands below. */
const optionsOf = (command: Command): readonly Option[] => [
  ...command.options,
  ...(command.parent ? optionsOf(command.parent) : []),
];

async function candidates({ command, given, open, values }: Place, last: string, ask: Ask): Promise<readonly string[]> {
  const access = {
    namespace: values.get("namespace") ?? "default",
    ...(values.has("kubeconfig") ? { kubeconfig: values.get("kubeconfig") ?? "" } : {}),
    ...(values.has("context") ? { context: values.get("context") ?? "" } : {}),
  };
  const names = (type: string, qualified = false): Promise<readonly string[]> => ask({ ...access, type, qualified });
  if (open) return valuesOf(open, names);
  if (last.startsWith("-"))
    return [
      ...optionsOf(command).flatMap(({ long, hidden }) => (long !== undefined && !hidden ? [long] : [])),
      "--help",
    ];
  if (given.length === 0 && command.commands.length > 0)
    return command
      .createHelp()
      .visibleCommands(command)
      .map((one) => one.name());
  return argumentsOf(pathOf(command), given, names);
}

async function valuesOf(option: Option, names: (type: string, qualified?: boolean) => Promise<readonly string[]>) {
  if (option.argChoices) return option.argChoices;
  if (option.long === "--namespace") return names("namespaces");
  if (option.long === "--proxy") return names("pods", true);
  return option.long === "--output" ? ["json", "yaml"] : [];
}

const pathOf = (command: Command): string =>
  command.parent?.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();

/** Commands whose first argument is a type and whose others are names of it. */
const typed: ReadonlySet<string> = new Set(["get", "delete", "edit"]);

/** Commands on requests, whose first argument says of what. */
const onRequests: ReadonlySet<string> = new Set(["stat", "tap", "top"]);
const requestTypes: readonly string[] = ["deployments", "namespaces", "services"];

async function argumentsOf(
  path: string,
  given: readonly string[],
  names: (type: string, qualified?: boolean) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const [first] = given;
  if (typed.has(path)) return first === undefined ? typeNames : names(first);
  if (onRequests.has(path)) return first === undefined ? requestTypes : given.length === 1 ? names(first) : [];
  if (given.length > 0) return path === "why" ? names("services") : [];
  if (path === "why" || path === "proxy-status" || path === "describe pod" || path.startsWith("proxy-config "))
    return names("pods", true);
  return path === "describe service" ? names("services", true) : [];
}
