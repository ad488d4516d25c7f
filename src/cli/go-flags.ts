/** Arguments as istioctl and kubectl take them in; as our parser takes them out: `--verbose=false`, `-o=json`. */
import type { Command, Option } from "commander";

export function goFlags(program: Command, args: readonly string[]): readonly string[] {
  const options = optionsOf(program);
  const end = args.indexOf("--");
  const ours = end < 0 ? args : args.slice(0, end);
  return [...ours.flatMap((arg) => rewrite(arg, options)), ...args.slice(ours.length)];
}

function optionsOf(command: Command): readonly Option[] {
  return [...command.options, ...command.commands.flatMap(optionsOf)];
}

function rewrite(arg: string, options: readonly Option[]): readonly string[] {
  const [, short, text] = /^(-[a-zA-Z])=(.*)$/s.exec(arg) ?? [];
  if (short !== undefined && text !== undefined && options.some((o) => o.short === short && takesValue(o)))
    return [short, text];
  const [, name, value] = /^--([a-z-]+)=(true|false|t|f|1|0)$/i.exec(arg) ?? [];
  if (name === undefined || !options.some((option) => option.long === `--${name}` && option.isBoolean())) return [arg];
  if (/^[t1]/i.test(value ?? "")) return [`--${name}`];
  return options.some((option) => option.long === `--no-${name}`) ? [`--no-${name}`] : [];
}

function takesValue(option: Option): boolean {
  return option.required || option.optional;
}
