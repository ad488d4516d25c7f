/** What a user wrote as values in; what is wrong with it, field by field with what was meant, out. */
import { isRecord, nearest } from "../lib/index.ts";
import { namePattern, type ValueNode } from "./values.ts";

export interface ValueProblem {
  readonly path: string;
  readonly message: string;
}

export function checkValues(node: ValueNode, given: unknown, path = ""): readonly ValueProblem[] {
  // A null takes a default away.
  if (given === null || given === undefined) return [];
  if (!fits(node, given)) return [{ path, message: `${wanted(node)} is needed, found ${shown(given)}` }];
  if (!node.fields || !isRecord(given)) return [];
  const { fields } = node;
  return Object.entries(given).flatMap(([name, inner]) => {
    const here = path === "" ? name : `${path}.${name}`;
    const known = Object.hasOwn(fields, name) ? fields[name] : undefined;
    return known ? checkValues(known, inner, here) : [{ path: here, message: unknownKey(name, fields, path) }];
  });
}

function fits(node: ValueNode, given: unknown): boolean {
  switch (node.type) {
    case "any":
      return ["string", "number"].includes(typeof given);
    case "integer":
      return Number.isInteger(given);
    case "array":
      return Array.isArray(given) && given.every((item) => isNameFor(node, item));
    case "object":
      return isRecord(given);
    case "string":
      return typeof given === "string" && (node.choices?.includes(given) ?? true) && isNameFor(node, given);
    default:
      return typeof given === node.type;
  }
}

function isNameFor({ nameUpTo }: ValueNode, given: unknown): boolean {
  if (nameUpTo === undefined) return true;
  return typeof given === "string" && new RegExp(namePattern(nameUpTo)).test(given);
}

function wanted({ type, choices, nameUpTo }: ValueNode): string {
  if (choices) return `one of ${choices.join(", ")}`;
  if (nameUpTo !== undefined)
    return `${type === "array" ? "a list of names, each" : "a name"} of at most ${nameUpTo} small letters, digits and dashes,`;
  const names = {
    any: "a text or number",
    integer: "a whole number",
    array: "a list",
    object: "a map",
    string: "a text",
  };
  return type === "boolean" ? "true or false" : type === "number" ? "a number" : names[type];
}

const shown = (given: unknown): string => JSON.stringify(given).slice(0, 60);

function unknownKey(name: string, fields: Readonly<Record<string, ValueNode>>, path: string): string {
  const meant = nearest(name, Object.keys(fields)) ?? elsewhere(name, fields);
  const full = meant === undefined ? undefined : path === "" ? meant : `${path}.${meant}`;
  return `there is no such value${full === undefined ? "" : `; did you mean ${full}?`}`;
}

/** The right word one level too high is a common slip. */
function elsewhere(name: string, fields: Readonly<Record<string, ValueNode>>): string | undefined {
  for (const [group, node] of Object.entries(fields))
    if (node.fields && Object.hasOwn(node.fields, name)) return `${group}.${name}`;
  return undefined;
}
