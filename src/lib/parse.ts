/**
 * Outside text in, plain data out: size cap, then depth scan, then parse. Nothing else in the program parses JSON or
 * YAML that came from outside.
 */
import {
  boolYaml11Tag,
  constructFromEvents,
  floatCoreTag,
  intYaml11Tag,
  legacyMapTag,
  mergeTag,
  NOT_RESOLVED,
  nullCoreTag,
  Schema,
  seqTag,
  strTag,
} from "js-yaml";
import { FairleadError } from "./error.ts";
import { printable } from "./log.ts";
import { checkAliases } from "./yaml-aliases.ts";
import { yamlEvents } from "./yaml-events.ts";
import { repeatedYamlKeys } from "./yaml-keys.ts";

export interface ParseLimits {
  readonly maxBytes: number;
  readonly maxDepth: number;
  /** Fields and items of JSON, at all levels; without it as many as the bytes hold. */
  readonly maxValues?: number;
}

/** One object of the API: the request size and nesting that a Kubernetes API server accepts of config kinds. */
export const objectLimits: ParseLimits = { maxBytes: 6 * 1024 * 1024, maxDepth: 100 };

/** Files a user names on the command line, or lists of many objects. */
export const fileLimits: ParseLimits = { maxBytes: 512 * 1024 * 1024, maxDepth: 100 };

/** Scalars as sigs.k8s.io/yaml reads them: YAML 1.1 booleans and octals, no timestamps, no base-60 numbers. */
const kubernetesSchema = new Schema([
  strTag,
  seqTag,
  legacyMapTag,
  nullCoreTag,
  boolYaml11Tag,
  {
    ...intYaml11Tag,
    resolve: (source, explicit, tag) =>
      source.includes(":") ? NOT_RESOLVED : intYaml11Tag.resolve(source, explicit, tag),
  },
  floatCoreTag,
  mergeTag,
]);

export function parseJson(text: string, limits: ParseLimits = objectLimits): unknown {
  checkJson(text, limits);
  return readJson(text);
}

/** With the number of fields that the text has at all levels: the value has fewer where some are there twice. */
export function* parseInSteps(
  text: string,
  limits: ParseLimits = objectLimits,
): Generator<void, { readonly value: unknown; readonly fields: number }> {
  const fields = checkJson(text, limits);
  yield;
  return { value: readJson(text), fields };
}

function checkJson(text: string, limits: ParseLimits): number {
  checkSize(text, limits);
  return checkJsonShape(text, limits);
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new FairleadError("invalid", `not JSON: ${error instanceof Error ? error.message : "cannot be read"}`, {
      cause: error,
    });
  }
}

/**
 * All documents of a YAML (or JSON) text; empty documents are left out. A mapping with a key twice is refused, unless
 * somebody is told of them: then the last one counts.
 */
export function parseYaml(
  text: string,
  limits: ParseLimits = fileLimits,
  onRepeated?: (key: string, line: number) => void,
): readonly unknown[] {
  checkSize(text, limits);
  try {
    const { text: source, events } = yamlEvents(text, limits.maxDepth);
    checkAliases(source, events, limits.maxDepth);
    if (onRepeated) for (const { key, line } of repeatedYamlKeys(source, events)) onRepeated(key, line);
    return constructFromEvents(events, { source, schema: kubernetesSchema, json: onRepeated !== undefined }).filter(
      (document) => document !== null && document !== undefined,
    );
  } catch (error) {
    const why = error instanceof Error ? error.message.split("\n").map(shown).join("\n") : "cannot be read";
    throw new FairleadError("invalid", `not YAML: ${why}`, { cause: error });
  }
}

/** The parser quotes what it read, which may be of any length and hold anything. */
function shown(line: string): string {
  const plain = printable(line);
  return plain.length <= maxQuoted ? plain : `${plain.slice(0, maxQuoted)}…`;
}

const maxQuoted = 160;

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function checkSize(text: string, limits: ParseLimits): void {
  if (text.length > limits.maxBytes)
    throw new FairleadError(
      "too-large",
      `the text has ${text.length} characters; at most ${limits.maxBytes} are accepted`,
    );
}

/**
 * Counts brackets and commas outside strings, so that a hostile text is refused before the recursive parser sees it; and
 * colons, of which each field has one.
 */
function checkJsonShape(text: string, { maxDepth, maxValues = Number.POSITIVE_INFINITY }: ParseLimits): number {
  let depth = 0;
  let values = 0;
  let colons = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === 0x22) i = endOfString(text, i + 1);
    else if (c === 0x2c || c === 0x7b || c === 0x5b) {
      values++;
      if (c !== 0x2c) depth++;
      if (depth > maxDepth) throw new FairleadError("invalid", `nested deeper than ${maxDepth} levels`);
      if (values > maxValues) throw new FairleadError("too-large", `it has more than ${maxValues} fields and items`);
    } else if (c === 0x7d || c === 0x5d) depth--;
    else if (c === 0x3a) colons++;
  }
  return colons;
}

/** The quote that is not escaped: those with an odd number of backslashes before them are. */
function endOfString(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 1)) {
    let slashes = 0;
    while (text.charCodeAt(at - 1 - slashes) === 0x5c) slashes++;
    if (slashes % 2 === 0) return at;
  }
  return text.length;
}
