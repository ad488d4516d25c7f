/** `--set a.b[0].c=value` as Helm and istioctl take it in; the values that it stands for out. */
import { FairleadError, isRecord, parseYaml } from "../lib/index.ts";

type Key = string | number;

/** Several assignments may stand in one flag, with commas between them; `\,` and `\.` are ordinary characters. */
export function parseSetFlag(flag: string): Readonly<Record<string, unknown>> {
  return splitOutside(flag, ",").reduce<Readonly<Record<string, unknown>>>((values, assignment) => {
    const at = assignment.indexOf("=");
    if (at <= 0) throw new FairleadError("usage", `--set ${flag}: write it as name=value`);
    const path = parsePath(assignment.slice(0, at));
    const made = assign(values, path, parseValue(assignment.slice(at + 1)));
    return isRecord(made) ? made : values;
  }, {});
}

function splitOutside(text: string, separator: string): readonly string[] {
  const parts: string[] = [""];
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text[i] ?? "";
    if (c === "\\" && i + 1 < text.length) parts[parts.length - 1] += c + (text[++i] ?? "");
    else if (c === separator && depth === 0) parts.push("");
    else {
      if (c === "{") depth++;
      if (c === "}") depth--;
      parts[parts.length - 1] += c;
    }
  }
  return parts.filter((part) => part !== "");
}

const unescaped = (text: string): string => text.replace(/\\(.)/g, "$1");

function parsePath(text: string): readonly Key[] {
  return splitOutside(text, ".").flatMap((part) => {
    const [, name = "", indexes = ""] = /^(.*?)((?:\[\d{1,4}\])*)$/s.exec(part) ?? [];
    const numbers = [...indexes.matchAll(/\[(\d+)\]/g)].map(([, index]) => Number(index));
    return [...(name === "" ? [] : [unescaped(name)]), ...numbers];
  });
}

function parseValue(text: string): unknown {
  const list = /^\{(.*)\}$/s.exec(text);
  if (list) return splitOutside(list[1] ?? "", ",").map(parseValue);
  if (/^(true|false|null|-?(0|[1-9]\d{0,15}))$/.test(text)) return parseYaml(text)[0] ?? null;
  return unescaped(text);
}

function assign(into: unknown, [key, ...rest]: readonly Key[], value: unknown): unknown {
  if (key === undefined) return value;
  if (typeof key === "number") {
    const list = Array.isArray(into) ? [...into] : [];
    list[key] = assign(list[key], rest, value);
    return [...list].map((item) => item ?? null);
  }
  const record = isRecord(into) ? into : {};
  const entries = new Map(Object.entries(record));
  entries.set(key, assign(entries.get(key), rest, value));
  return Object.fromEntries(entries);
}
