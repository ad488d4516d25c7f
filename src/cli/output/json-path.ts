/**
 * A kubectl template (`{.items[*].metadata.name}`, `{range .items[*]}{.metadata.name}{"\n"}{end}`) in; a function from
 * data to text out. Known are fields, quoted fields, indexes, `[*]`, `[?(@.field=="value")]`, texts and range; slices
 * and `..` are not.
 */
import { FairleadError, isRecord } from "../../lib/index.ts";

type Step = (values: readonly unknown[]) => readonly unknown[];
type Part = (root: unknown) => string;

export function parseJsonPath(template: string): (data: unknown) => string {
  const tokens = template.split(/(\{(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^}"'])*\})/).filter((token) => token !== "");
  const { parts, rest } = parseParts(tokens, false);
  if (rest.length > 0) throw mistake(template);
  return (data) => parts.map((part) => part(data)).join("");
}

function mistake(text: string): FairleadError {
  return new FairleadError("usage", `jsonpath: ${text} cannot be read`, {
    hint: 'such as {.items[*].metadata.name} or {range .items[*]}{.metadata.name}{"\\n"}{end}',
  });
}

function parseParts(
  tokens: readonly string[],
  inRange: boolean,
): { readonly parts: readonly Part[]; readonly rest: readonly string[] } {
  const parts: Part[] = [];
  let left = tokens;
  while (left.length > 0) {
    const [token = "", ...after] = left;
    left = after;
    if (token.includes("{") && !token.endsWith("}")) throw mistake(token);
    if (!token.startsWith("{")) {
      parts.push(() => token);
      continue;
    }
    const inner = token.slice(1, -1).trim();
    if (inner === "end" && inRange) return { parts, rest: left };
    if (/^range\s/.test(inner)) {
      const path = parsePath(inner.slice("range".length).trim());
      const body = parseParts(left, true);
      left = body.rest;
      parts.push((root) =>
        path(root)
          .map((item) => body.parts.map((part) => part(item)).join(""))
          .join(""),
      );
    } else parts.push(parseExpression(inner));
  }
  if (inRange) throw mistake("a range without {end}");
  return { parts, rest: [] };
}

function parseExpression(text: string): Part {
  if (text.startsWith('"')) {
    try {
      const literal: unknown = JSON.parse(text);
      return () => String(literal);
    } catch {
      throw mistake(text);
    }
  }
  const path = parsePath(text);
  return (root) => path(root).map(printValue).join(" ");
}

function printValue(value: unknown): string {
  return typeof value === "object" && value !== null ? JSON.stringify(value) : String(value);
}

const stepPattern =
  /^(?:\.?\[\?\(@([^=!]*?)\s*(==|!=)\s*(?:"([^"]*)"|'([^']*)'|([^)]*))\)\]|\.?\[(-?\d+|\*|'[^']*'|"[^"]*")\]|\.((?:[^.[\]\\]|\\.)+))/;

function parsePath(text: string): (root: unknown) => readonly unknown[] {
  const steps: Step[] = [];
  let left = text.startsWith("$") || text.startsWith("@") ? text.slice(1) : text;
  if (left === ".") left = "";
  while (left !== "") {
    const match = stepPattern.exec(left);
    if (!match) throw mistake(text);
    const [whole, field, operator, double, single, bare, index, name] = match;
    if (operator !== undefined) {
      const wanted = double ?? single ?? bare ?? "";
      steps.push(filterStep(parsePath(field ?? ""), wanted, operator === "=="));
    } else if (index !== undefined) steps.push(indexStep(index));
    else steps.push(name === "*" ? everyStep : fieldStep((name ?? "").replace(/\\(.)/g, "$1")));
    left = left.slice(whole.length);
  }
  return (root) => steps.reduce((values, step) => step(values), [root] as readonly unknown[]);
}

const everyStep: Step = (values) =>
  values.flatMap((value) => (Array.isArray(value) ? value : isRecord(value) ? Object.values(value) : []));

function fieldStep(name: string): Step {
  return (values) => values.flatMap((value) => (isRecord(value) && Object.hasOwn(value, name) ? [value[name]] : []));
}

function indexStep(index: string): Step {
  if (index === "*") return everyStep;
  if (/^['"]/.test(index)) return fieldStep(index.slice(1, -1));
  return (values) =>
    values.flatMap((value) => {
      const found: unknown = Array.isArray(value) ? value.at(Number(index)) : undefined;
      return found === undefined ? [] : [found];
    });
}

function filterStep(path: (root: unknown) => readonly unknown[], wanted: string, equal: boolean): Step {
  return (values) =>
    values
      .flatMap((value): readonly unknown[] => (Array.isArray(value) ? value : []))
      .filter((item) => path(item).some((found) => (String(found) === wanted) === equal));
}
