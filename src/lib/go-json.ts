/** Data in; JSON as Go's encoder writes it out: compact, with `<`, `>`, `&` and the two line separators escaped. */

const escapes: Readonly<Record<string, string>> = {
  "<": "\\u003c",
  ">": "\\u003e",
  "&": "\\u0026",
  "\u2028": "\\u2028",
  "\u2029": "\\u2029",
};

export function goJson(data: unknown, indent?: string): string {
  return JSON.stringify(data, null, indent).replace(/[<>&\u2028\u2029]/g, (c) => escapes[c] ?? c);
}
