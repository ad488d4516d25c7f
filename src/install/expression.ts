/**
 * The words in which an installation is written down once: plain data in which some values are expressions over the
 * installation's values. From it come the objects themselves (`evaluate`) and the templates of the Helm chart (`helm.ts`).
 */
import { isRecord } from "../lib/index.ts";

const mark = Symbol("expression");

export type Expression = { readonly [mark]: true } & (
  | { readonly op: "value"; readonly path: string }
  | { readonly op: "variable"; readonly name: "key" | "item" }
  | { readonly op: "release"; readonly field: "namespace" }
  | { readonly op: "named"; readonly name: string; readonly of: Expression }
  | { readonly op: "text"; readonly parts: readonly (string | Expression)[] }
  | { readonly op: "when"; readonly test: Test; readonly then: Data; readonly otherwise?: Data | undefined }
  | { readonly op: "merge"; readonly parts: readonly Data[] }
  | { readonly op: "each"; readonly path: string; readonly item: Data }
  | { readonly op: "string"; readonly of: Expression }
  | { readonly op: "print"; readonly as: "json" | "yaml"; readonly of: Data }
);

export type Test =
  | { readonly is: "set"; readonly of: Expression }
  | { readonly is: "equal"; readonly of: Expression; readonly to: string | Expression }
  | { readonly is: "contains"; readonly of: Expression; readonly text: string }
  | { readonly is: "not"; readonly of: Test }
  | { readonly is: "all"; readonly of: readonly Test[] };

export type Data =
  | string
  | number
  | boolean
  | null
  | Expression
  | readonly Data[]
  | { readonly [field: string]: Data | undefined };

/** One of the installation's values, by its path; it has a default, so it is always there. */
export const value = (path: string): Expression => ({ [mark]: true, op: "value", path });

/** The namespace that is installed into. */
export const namespace: Expression = { [mark]: true, op: "release", field: "namespace" };

/** A text that is used in several places: the chart has it as a template of that name. */
export const named = (name: string, of: Expression): Expression => ({ [mark]: true, op: "named", name, of });

/** Texts and values, one after the other. */
export const text = (...parts: readonly (string | Expression)[]): Expression => ({ [mark]: true, op: "text", parts });

/** A field or list item that is only there under a condition, or is something else otherwise. */
export const when = (test: Test, then: Data, otherwise?: Data): Expression => ({
  [mark]: true,
  op: "when",
  test,
  then,
  otherwise,
});

/** Objects laid over one another, later ones winning. */
export const merge = (...parts: readonly Data[]): Expression => ({ [mark]: true, op: "merge", parts });

/** In a list: one item for each member of a value, which is a map or a list. */
export const each = (path: string, item: (key: Expression, item: Expression) => Data): Expression => ({
  [mark]: true,
  op: "each",
  path,
  item: item({ [mark]: true, op: "variable", name: "key" }, { [mark]: true, op: "variable", name: "item" }),
});

/** A number or boolean as text. */
export const asText = (of: Expression): Expression => ({ [mark]: true, op: "string", of });

/** Data printed into a text, as ConfigMaps hold it. */
export const print = (as: "json" | "yaml", of: Data): Expression => ({ [mark]: true, op: "print", as, of });

export const set = (of: Expression): Test => ({ is: "set", of });
export const equal = (of: Expression, to: string | Expression): Test => ({ is: "equal", of, to });
export const not = (of: Test): Test => ({ is: "not", of });
export const all = (...of: readonly Test[]): Test => ({ is: "all", of });

export function isExpression(data: unknown): data is Expression {
  return typeof data === "object" && data !== null && mark in data;
}

export interface Scope {
  readonly values: unknown;
  readonly namespace: string;
  printYaml(data: unknown): string;
  readonly key?: unknown;
  readonly item?: unknown;
}

/** Undefined for what a condition leaves out. */
export function evaluate(data: Data | undefined, scope: Scope): unknown {
  if (isExpression(data)) return evaluateExpression(data, scope);
  if (Array.isArray(data)) return data.flatMap((item: Data) => evaluateItem(item, scope));
  if (typeof data !== "object" || data === null) return data;
  const entries = Object.entries(data).map(([name, inner]) => [name, evaluate(inner, scope)] as const);
  return Object.fromEntries(entries.filter(([, inner]) => inner !== undefined));
}

function evaluateItem(item: Data, scope: Scope): readonly unknown[] {
  if (isExpression(item) && item.op === "each") {
    const over = evaluate(value(item.path), scope);
    const members = Array.isArray(over) ? [...over.entries()] : sortedEntries(over);
    return members.flatMap(([key, member]) => evaluateItem(item.item, { ...scope, key, item: member }));
  }
  const made = evaluate(item, scope);
  return made === undefined ? [] : [made];
}

/** As Helm goes through maps. */
const sortedEntries = (over: unknown): readonly (readonly [string, unknown])[] =>
  isRecord(over) ? Object.entries(over).sort(([a], [b]) => (a < b ? -1 : 1)) : [];

function evaluateExpression(expression: Expression, scope: Scope): unknown {
  switch (expression.op) {
    case "value":
      return expression.path
        .split(".")
        .reduce<unknown>((from, name) => (isRecord(from) ? from[name] : undefined), scope.values);
    case "variable":
      return scope[expression.name];
    case "release":
      return scope.namespace;
    case "named":
      return evaluate(expression.of, scope);
    case "text":
      return expression.parts.map((part) => textOf(evaluate(part, scope))).join("");
    case "when":
      return evaluate(holds(expression.test, scope) ? expression.then : expression.otherwise, scope);
    case "merge":
      return expression.parts
        .map((part) => evaluate(part, scope))
        .filter(isRecord)
        .reduce(mergeRecords, {});
    case "string":
      return textOf(evaluate(expression.of, scope));
    case "print": {
      const made = evaluate(expression.of, scope);
      return expression.as === "json" ? JSON.stringify(made) : scope.printYaml(made);
    }
    case "each":
      throw new Error("each stands in lists only");
  }
}

const textOf = (of: unknown): string => (of === undefined || of === null ? "" : String(of));

export function mergeRecords(
  base: Readonly<Record<string, unknown>>,
  over: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const out = new Map(Object.entries(base));
  for (const [name, inner] of Object.entries(over)) {
    const before = out.get(name);
    // As with Helm, a null takes the default away.
    if (inner === null) out.delete(name);
    else out.set(name, isRecord(before) && isRecord(inner) ? mergeRecords(before, inner) : inner);
  }
  return Object.fromEntries(out);
}

function holds(test: Test, scope: Scope): boolean {
  switch (test.is) {
    case "set":
      return isSet(evaluate(test.of, scope));
    case "equal":
      return textOf(evaluate(test.of, scope)) === textOf(evaluate(test.to, scope));
    case "contains":
      return textOf(evaluate(test.of, scope)).includes(test.text);
    case "not":
      return !holds(test.of, scope);
    case "all":
      return test.of.every((one) => holds(one, scope));
  }
}

/** What Helm takes for true. */
function isSet(of: unknown): boolean {
  if (Array.isArray(of)) return of.length > 0;
  return isRecord(of) ? Object.keys(of).length > 0 : Boolean(of);
}
