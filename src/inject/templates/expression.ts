/**
 * The expressions that a user's template may have between `{{` and `}}`: text in, its value out. A small part of Istio's
 * template language: values of the Pod and of the settings, and a few functions on them. There is no control flow and no
 * way to the environment, files or network.
 */
import { FairleadError, isRecord } from "../../lib/index.ts";
import type { Fields } from "../pod.ts";

type Token = { readonly kind: "text" | "number" | "path" | "name" | "mark"; readonly text: string };

const tokenPattern =
  /\s*(?:("(?:[^"\\]|\\.)*"|`[^`]*`)|(-?\d+)(?![\w.])|((?:\.[A-Za-z_][\w]*)+|\.(?![\w]))|([A-Za-z_]\w*)|([()|]))/y;

function tokens(source: string): readonly Token[] {
  const out: Token[] = [];
  tokenPattern.lastIndex = 0;
  const end = source.trimEnd().length;
  while (tokenPattern.lastIndex < end) {
    const match = tokenPattern.exec(source);
    if (!match) throw refused(source, "it cannot be read");
    const [, text, number, path, name, mark] = match;
    if (text !== undefined) out.push({ kind: "text", text: text.startsWith("`") ? text.slice(1, -1) : unquoted(text) });
    else if (number !== undefined) out.push({ kind: "number", text: number });
    else if (path !== undefined) out.push({ kind: "path", text: path });
    else if (name !== undefined) out.push({ kind: "name", text: name });
    else out.push({ kind: "mark", text: mark ?? "" });
  }
  return out;
}

const unquoted = (text: string): string => text.slice(1, -1).replace(/\\(.)/gs, (_, c) => (c === "n" ? "\n" : c));

function refused(source: string, why: string): FairleadError {
  return new FairleadError("invalid", `{{ ${source.trim()} }}: ${why}`, {
    hint: "a template may use values such as .ObjectMeta.Labels and the functions index, annotation, default, valueOrDefault, quote, toLower, trunc",
  });
}

type Function_ = (args: readonly unknown[], data: Fields) => unknown;

const isEmpty = (value: unknown): boolean => value === undefined || value === null || value === "";

const functions: ReadonlyMap<string, Function_> = new Map<string, Function_>([
  ["index", ([from, ...keys]) => keys.reduce((value, key) => member(value, String(key)), from)],
  ["annotation", ([meta, name, fallback]) => member(member(meta, "Annotations"), String(name)) ?? fallback],
  ["valueOrDefault", ([value, fallback]) => (isEmpty(value) ? fallback : value)],
  ["default", ([fallback, value]) => (isEmpty(value) ? fallback : value)],
  // The value is one scalar of the result whatever is in it, so there is nothing to quote.
  ["quote", ([value]) => value],
  ["squote", ([value]) => value],
  ["toLower", ([value]) => String(value ?? "").toLowerCase()],
  ["trunc", ([length, value]) => String(value ?? "").slice(0, Number(length))],
]);

/** Fields are spelled as Go spells them (`.ProxyConfig.StatusPort`); what is the users' own is spelled as they wrote it. */
function member(value: unknown, name: string): unknown {
  if (!isRecord(value)) return undefined;
  if (Object.hasOwn(value, name)) return value[name];
  const lower = `${name.slice(0, 1).toLowerCase()}${name.slice(1)}`;
  return Object.hasOwn(value, lower) ? value[lower] : undefined;
}

export function evaluate(source: string, data: Fields): string {
  const list = tokens(source);
  let at = 0;
  const pipeline = (): unknown => {
    let value = call([]);
    while (list[at]?.text === "|" && list[at]?.kind === "mark") {
      at++;
      value = call([value]);
    }
    return value;
  };
  const call = (piped: readonly unknown[]): unknown => {
    const head = list[at];
    if (head?.kind !== "name") {
      if (piped.length > 0) throw refused(source, "a function must follow |");
      return term();
    }
    const run = functions.get(head.text);
    if (!run) throw refused(source, `${head.text} is not known`);
    at++;
    const args: unknown[] = [];
    while (at < list.length && list[at]?.text !== "|" && !(list[at]?.kind === "mark" && list[at]?.text === ")"))
      args.push(term());
    return run([...args, ...piped], data);
  };
  const term = (): unknown => {
    const token = list[at++];
    if (token?.kind === "text") return token.text;
    if (token?.kind === "number") return Number(token.text);
    if (token?.kind === "path")
      return token.text
        .slice(1)
        .split(".")
        .filter(Boolean)
        .reduce(member, data as unknown);
    if (token?.text !== "(") throw refused(source, "a value is missing");
    const inner = pipeline();
    if (list[at++]?.text !== ")") throw refused(source, "a ) is missing");
    return inner;
  };
  const value = pipeline();
  if (at < list.length) throw refused(source, `${list[at]?.text} is not expected`);
  if (value === undefined || value === null) throw refused(source, "there is no such value; give one with | default");
  if (typeof value === "object") throw refused(source, "it is not a single value");
  return String(value);
}
