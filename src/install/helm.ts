/** The words of an installation in; the text of a Helm template that makes the same objects out. */
import { type Data, type Expression, isExpression, type Test } from "./expression.ts";

/** One object, whole; under a condition, or once for each member of a list. */
export function helmTemplate(data: Data): string {
  if (isExpression(data) && data.op === "each")
    return `{{- range $key, $item := ${path(data.path)} }}\n---\n${helmTemplate(data.item)}{{- end }}\n`;
  if (isExpression(data) && data.op === "when" && data.otherwise === undefined)
    return `{{- if ${condition(data.test)} }}\n${block(data.then, 0)}{{- end }}\n`;
  return block(data, 0);
}

/** What `named` expressions stand for, each once. */
export function helmHelpers(named: readonly Expression[]): string {
  return named
    .map((one) =>
      one.op === "named" ? `{{- define "fairlead.${one.name}" -}}\n${helperBody(one.of)}\n{{- end }}\n` : "",
    )
    .join("\n");
}

function helperBody(of: Expression): string {
  if (of.op !== "when") return `{{- ${expression(of)} }}`;
  const otherwise = of.otherwise ?? "";
  return `{{- if ${condition(of.test)} }}{{ ${operand(of.then)} }}{{ else }}{{ ${operand(otherwise)} }}{{ end }}`;
}

const pad = (depth: number): string => "  ".repeat(depth);

function block(data: Data, depth: number): string {
  if (isExpression(data) || typeof data !== "object" || data === null) return `${pad(depth)}${inline(data)}\n`;
  if (Array.isArray(data)) return data.map((item: Data) => listItem(item, depth)).join("");
  return Object.entries(data)
    .map(([name, inner]) => (inner === undefined ? "" : field(name, inner, depth)))
    .join("");
}

function field(name: string, data: Data, depth: number): string {
  if (isExpression(data) && data.op === "when") {
    const otherwise = data.otherwise === undefined ? "" : `{{- else }}\n${field(name, data.otherwise, depth)}`;
    return `{{- if ${condition(data.test)} }}\n${field(name, data.then, depth)}${otherwise}{{- end }}\n`;
  }
  const key = `${pad(depth)}${plainKey(name)}:`;
  if (isExpression(data) || typeof data !== "object" || data === null || isEmpty(data))
    return `${key} ${inline(data)}\n`;
  // A list whose items are all conditional may come out empty, which YAML would read as null.
  return `${key}\n${block(data, Array.isArray(data) ? depth : depth + 1)}`;
}

function listItem(data: Data, depth: number): string {
  if (isExpression(data) && data.op === "when") {
    const otherwise = data.otherwise === undefined ? "" : `{{- else }}\n${listItem(data.otherwise, depth)}`;
    return `{{- if ${condition(data.test)} }}\n${listItem(data.then, depth)}${otherwise}{{- end }}\n`;
  }
  if (isExpression(data) && data.op === "each")
    return `{{- range $key, $item := ${path(data.path)} }}\n${listItem(data.item, depth)}{{- end }}\n`;
  if (isExpression(data) || typeof data !== "object" || data === null || isEmpty(data))
    return `${pad(depth)}- ${inline(data)}\n`;
  // The first line of what is inside takes the dash; a condition before it needs a line of its own.
  const inner = block(data, depth + 1);
  return inner.startsWith("{{-") ? `${pad(depth)}-\n${inner}` : `${pad(depth)}- ${inner.slice(pad(depth + 1).length)}`;
}

const isEmpty = (data: Data): boolean => typeof data === "object" && data !== null && Object.keys(data).length === 0;

const plainKey = (name: string): string => (/^[A-Za-z_][\w./-]*$/.test(name) ? name : JSON.stringify(name));

/** On one line: JSON is YAML, whatever the value is. */
function inline(data: Data): string {
  return isExpression(data) ? `{{ ${expression(data)} | toJson }}` : JSON.stringify(data);
}

const path = (of: string): string => `$.Values.${of}`;

function expression(of: Expression): string {
  switch (of.op) {
    case "value":
      return path(of.path);
    case "variable":
      return `$${of.name}`;
    case "release":
      return "$.Release.Namespace";
    case "named":
      return `(include "fairlead.${of.name}" $)`;
    case "string":
      return `(toString ${operand(of.of)})`;
    case "text": {
      const format = of.parts.map((part) => (typeof part === "string" ? part.replaceAll("%", "%%") : "%v")).join("");
      const args = of.parts.filter((part) => typeof part !== "string").map((part) => operand(part));
      return `(printf ${[JSON.stringify(format), ...args].join(" ")})`;
    }
    case "when":
      return `(ternary ${operand(of.then)} ${operand(of.otherwise ?? "")} (not (not ${condition(of.test)})))`;
    case "merge":
      return `(mergeOverwrite (dict) ${of.parts.map((part) => `(deepCopy ${operand(part)})`).join(" ")})`;
    case "print":
      return `(${of.as === "json" ? "toJson" : "toYaml"} ${operand(of.of)})`;
    case "each":
      throw new Error("each stands in lists only");
  }
}

/** Data as an argument of a template function. */
function operand(data: Data): string {
  if (isExpression(data)) return expression(data);
  if (Array.isArray(data)) return `(list ${data.map((item: Data) => operand(item)).join(" ")})`;
  if (typeof data === "object" && data !== null) {
    const members = Object.entries(data).flatMap(([name, inner]) =>
      inner === undefined ? [] : [JSON.stringify(name), operand(inner)],
    );
    return `(dict ${members.join(" ")})`;
  }
  return data === null ? "nil" : JSON.stringify(data);
}

function condition(test: Test): string {
  switch (test.is) {
    case "set":
      return operand(test.of);
    case "equal":
      return `(eq (toString ${operand(test.of)}) (toString ${operand(test.to)}))`;
    case "contains":
      return `(contains ${JSON.stringify(test.text)} (toString ${operand(test.of)}))`;
    case "not":
      return `(not ${condition(test.of)})`;
    case "all":
      return `(and ${test.of.map(condition).join(" ")})`;
  }
}
