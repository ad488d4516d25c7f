/** What a command has found, in every form that it has, in; the form that was asked for out. One printer for all commands. */
import type { Option } from "commander";
import { FairleadError, printable } from "../lib/index.ts";
import { customColumns } from "./output/custom-columns.ts";
import { parseJsonPath } from "./output/json-path.ts";
import { outputChoices } from "./output-choices.ts";
import { printJson, printYaml } from "./print.ts";

export interface Forms {
  /** For people; `wide` where all columns are wanted. */
  plain(wide: boolean): string;
  /** For programs. */
  data(): unknown;
  /** Of what was found, one a line. */
  names(): readonly string[];
}

const data: Readonly<Record<string, (data: unknown) => string>> = {
  json: (value) => printJson(value, 2),
  yaml: printYaml,
};

const templates: Readonly<Record<string, (template: string) => (data: unknown) => string>> = {
  jsonpath: (template) => parseJsonPath(template),
  "custom-columns": (template) => customColumns(template),
};

/** `plain` is what the command calls its form for people. */
export function outputOption(plain: string, fallback = plain): Option {
  return outputChoices(plain, fallback).argParser((format: string) => {
    parseOutput(format, plain);
    return format;
  });
}

type Print = (forms: Forms) => string;

/** Mistakes in a format are told before anything is asked. */
export function parseOutput(format: string, plain: string): Print {
  if (format === plain) return (forms) => forms.plain(false);
  if (format === "wide") return (forms) => forms.plain(true);
  if (format === "name")
    return (forms) =>
      forms
        .names()
        .map((name) => `${printable(name)}\n`)
        .join("");
  const asData = Object.hasOwn(data, format) ? data[format] : undefined;
  if (asData) return (forms) => asData(forms.data());
  const [, word = "", template] = /^([a-z-]+)=(.*)$/s.exec(format) ?? [];
  const make = Object.hasOwn(templates, word) ? templates[word] : undefined;
  if (make && template !== undefined) {
    const print = make(template);
    return (forms) => ended(safeLines(print(asList(forms.data()))));
  }
  throw new FairleadError("usage", `-o ${format} is not known`, {
    hint: `${plain}, wide, name, json, yaml, jsonpath=TEMPLATE and custom-columns=HEADER:.path are`,
  });
}

/** As kubectl's lists are, so that templates say `{.items[*].name}`. */
const asList = (value: unknown): unknown => (Array.isArray(value) ? { kind: "List", items: value } : value);

/** Lines and tabs are the template's own. */
export const safeLines = (text: string): string =>
  text
    .split(/([\n\t])/)
    .map((part) => (/^[\n\t]$/.test(part) ? part : printable(part)))
    .join("");

const ended = (text: string): string => (text === "" || text.endsWith("\n") ? text : `${text}\n`);
