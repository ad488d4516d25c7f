/** The JSONPath of printer columns: `.spec.hosts`, `.status.conditions[?(@.type=="Ready")].status`, `.a[0].b`, `.a['x.y']`. */
import { isRecord } from "../lib/index.ts";

type Step =
  | { readonly type: "field"; readonly name: string }
  | { readonly type: "index"; readonly index: number }
  | { readonly type: "all" }
  | { readonly type: "where"; readonly path: readonly Step[]; readonly equals: string };

const token =
  /^(?:\.?\[\?\(@((?:\.[\w-]+)+)\s*==\s*(?:"([^"]*)"|'([^']*)')\)\]|\.?\[(-?\d+)\]|\.?\[\*\]|\.?\['([^']*)'\]|\.((?:[\w$-]|\\.)+)|\.(\*))/;

/** Undefined for what is none of the above: its column stays empty. */
export function parseJsonPath(text: string): readonly Step[] | undefined {
  let rest = text.replace(/^\{(.*)\}$/, "$1").replace(/^\$/, "");
  if (rest !== "" && !rest.startsWith(".") && !rest.startsWith("[")) rest = `.${rest}`;
  const steps: Step[] = [];
  while (rest !== "") {
    const match = token.exec(rest);
    if (!match) return undefined;
    steps.push(stepOf(match));
    rest = rest.slice(match[0].length);
  }
  return steps;
}

export function evaluateJsonPath(path: readonly Step[] | undefined, value: unknown): readonly unknown[] {
  if (path === undefined) return [];
  return path.reduce<readonly unknown[]>((found, step) => found.flatMap((item) => [...follow(step, item)]), [value]);
}

function stepOf(match: RegExpExecArray): Step {
  const [, where, double, single, index, quoted, field] = match;
  if (where !== undefined) return { type: "where", path: parseJsonPath(where) ?? [], equals: double ?? single ?? "" };
  if (index !== undefined) return { type: "index", index: Number(index) };
  const name = quoted ?? field?.replace(/\\(.)/g, "$1");
  return name === undefined ? { type: "all" } : { type: "field", name };
}

function follow(step: Step, value: unknown): readonly unknown[] {
  switch (step.type) {
    case "field":
      return isRecord(value) && Object.hasOwn(value, step.name) ? [value[step.name]] : [];
    case "index": {
      const found = Array.isArray(value) ? value.at(step.index) : undefined;
      return found === undefined ? [] : [found];
    }
    case "all":
      return Array.isArray(value) ? value : isRecord(value) ? Object.values(value) : [];
    case "where":
      return Array.isArray(value)
        ? value.filter((item) => evaluateJsonPath(step.path, item).some((v) => String(v) === step.equals))
        : [];
  }
}
