/** A text that others wrote in; the same without private keys and tokens of a bearer out. */

export const redacted = "[redacted]";

const patterns: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g, redacted],
  // The same as base64, in which JSON writes bytes; after `-----BEGIN ` a D begins CERTIFICATE.
  [/LS0tLS1CRUdJTiB(?!D)[\w+/=]*/g, redacted],
  // JSON Web Tokens. None begins inside a word, so that a long text of beginnings is read once.
  [/(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}(\.[\w-]*)?/g, redacted],
  [/\b(Bearer|Basic) +[\w+/=.~-]{8,}/gi, `$1 ${redacted}`],
];

/** All else stays as it is: who reads it wants to know what was meant. */
export function redactKeys(text: string): string {
  return patterns.reduce((out, [pattern, by]) => out.replace(pattern, by), text);
}
