/** Data in, what a person or a script reads out: YAML, tables; secrets never. */
import { type DumpOptions, dump } from "js-yaml";
import { formatSortedYaml } from "../lib/index.ts";

/** Marks that turn text around, and controls that JSON's own escapes leave: as escapes they mean the same and show themselves. */
const hidden = /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** For JSON, and for YAML between double quotes. */
export const escaped = (text: string): string =>
  text.replace(hidden, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);

export function printJson(data: unknown, indent: number): string {
  return `${escaped(JSON.stringify(data, null, indent) ?? "null")}\n`;
}

export function printYaml(data: unknown): string {
  const options = { noRefs: true, lineWidth: 120 };
  return safeYaml(dump(data, options), data, options);
}

/** As kubectl and istioctl write it: keys in order, lists not indented, no folded lines. */
export function printSortedYaml(data: unknown): string {
  return safeYaml(formatSortedYaml(data), data, { noRefs: true, lineWidth: -1, sortKeys: true, seqNoIndent: true });
}

/** Escapes hold only between double quotes. */
function safeYaml(text: string, data: unknown, options: DumpOptions): string {
  return text.search(hidden) < 0 ? text : escaped(dump(data, { ...options, forceQuotes: true, quoteStyle: "double" }));
}

/** Fields of Envoy's Secret that hold key material. */
const secretFields: ReadonlySet<string> = new Set([
  "privateKey",
  "inlineString",
  "inlineBytes",
  "password",
  "sessionTicketKeys",
  "keys",
]);

/** A copy of printed resources whose `secrets` say that there is a key, and not which. */
export function redactSecrets<T extends Readonly<Record<string, unknown>>>(rendered: T): T {
  if (!("secrets" in rendered)) return rendered;
  return { ...rendered, secrets: redact(rendered.secrets) };
}

function redact(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(redact);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, secretFields.has(key) ? "[redacted]" : redact(inner)]),
  );
}
