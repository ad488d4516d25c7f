/** Objects and texts of a mesh in; the same without keys, tokens and passwords out. */
import { isRecord, redacted, redactKeys } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";

/** Names whose values are mostly secret, wherever they stand. */
const secretName = /passw|secret|token|credential|api[-_]?key|private[-_]?key|authorization/i;

/** Nothing of a Secret but that it is there, and the names of its entries; of others what is called a secret. */
export function redactObject(object: KubeObject): unknown {
  const { managedFields: _, ...metadata } = object.metadata as KubeObject["metadata"] & { managedFields?: unknown };
  const annotations = Object.entries(metadata.annotations ?? {}).map(([name, value]) => [name, redactText(value)]);
  const shown = { ...object, metadata: { ...metadata, annotations: Object.fromEntries(annotations) } };
  return object.kind === "Secret" && object.apiVersion === "v1" ? withoutData(shown) : redactValue(shown);
}

function withoutData(secret: KubeObject): unknown {
  const hidden = (data: unknown): unknown =>
    isRecord(data) ? Object.fromEntries(Object.keys(data).map((key) => [key, redacted])) : undefined;
  // What was applied is written down whole in an annotation.
  const { annotations: _, ...metadata } = secret.metadata;
  const { data, stringData, ...rest } = secret;
  return {
    ...rest,
    metadata,
    ...(data === undefined ? {} : { data: hidden(data) }),
    ...(stringData === undefined ? {} : { stringData: hidden(stringData) }),
  };
}

/** What a control plane has answered: objects are in it, and what was made from them. */
export const redactDump = (value: unknown): unknown => redactValue(value);

/** Holds the whole object once more, as text in which no name tells what is secret. */
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

/** `of` is the name that it has where it stands. */
function redactValue(value: unknown, of = ""): unknown {
  if (typeof value === "string") return redactText(value);
  if (Array.isArray(value)) return value.map((member) => redactValue(member));
  if (!isRecord(value)) return value;
  // `env: [{ name: PASSWORD, value: … }]`
  const isNamedSecret = typeof value["name"] === "string" && secretName.test(value["name"]);
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      const isSecret =
        typeof inner === "string" &&
        (secretName.test(key) ? !isReference(key) : (isNamedSecret && key === "value") || isInline(of, key));
      return [key, isSecret || key === lastApplied ? redacted : redactValue(inner, key)];
    }),
  );
}

/** Envoy's `private_key: { inline_bytes: … }` */
const isInline = (of: string, key: string): boolean => secretName.test(of) && /^inline_?(string|bytes)$/i.test(key);

/** Which Secret is meant is no secret. */
const isReference = (key: string): boolean => /name$|ref$|path$|policy$/i.test(key);

const patterns: readonly (readonly [RegExp, string])[] = [
  // JSON in a text of JSON has its quotes escaped.
  [/(passw(or)?d|secret|token|api[-_]?key)(\\*"?\s*[:=]\s*\\*"?)[^\s"',;&]{4,}/gi, `$1$3${redacted}`],
  // user:password@host
  [/(\/\/[^/\s:@]{1,100}):[^/\s@]{1,100}@/g, `$1:${redacted}@`],
];

/** For logs and whatever else was written by others. */
export function redactText(text: string): string {
  return patterns.reduce((out, [pattern, by]) => out.replace(pattern, by), redactKeys(text));
}
