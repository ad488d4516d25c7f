/** Data in, what a person or a script reads out: YAML, tables; secrets never. */
import { dump } from "js-yaml";

export { formatSortedYaml as printSortedYaml } from "../lib/index.ts";

export function printYaml(data: unknown): string {
  return dump(data, { noRefs: true, lineWidth: 120 });
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
