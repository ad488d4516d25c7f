/** What a command printed in; the same without what differs from one run to the next out. */
import { isRecord } from "../../src/lib/index.ts";

const rules: readonly (readonly [RegExp, string])[] = [
  // Lines of istioctl's own log, and of Go's runtime.
  [/^\d{4}[-/]\d\d[-/]\d\d[T ][^\n]*\n/gm, ""],
  [/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?( ?\+0000 UTC)?Z?( m=\+[\d.]+)?/g, "TIME"],
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "UUID"],
  [/TIME\/\d+(UUID)?/g, "NONCE"],
  // Both are built without a release's number, or with their own.
  [/control plane version: \S+/g, "control plane version: BUILD"],
  [/\\?"Info\\?":\{[^}]*\}/g, "BUILD"],
  [/Info:version\.BuildInfo\{[^}]*\}/g, "BUILD"],
  [/127\.0\.0\.1:\d{4,5}/g, "127.0.0.1:PORT"],
  [/localhost:\d{4,5}/g, "localhost:PORT"],
  [/\/tmp\/[^\s"':]+/g, "/tmp/PATH"],
  [/caBundle: \S+\n\s*/g, ""],
  [/SYNCED \(\d+\w+\) */g, "SYNCED (AGE) "],
  [/("connectionId": ?"[^"]*-)\d+"/g, '$1N"'],
  // Whoever asks by xDS is one of them.
  [/"totalClients": ?\d+/g, '"totalClients": 0'],
  [/Pushed to \d+ servers/g, "Pushed to N servers"],
  [/-----BEGIN [\s\S]*?-----END [A-Z ]+-----/g, "PEM"],
  [/"([rR]esourceVersion)": ?"\d+"/g, '"$1": "VERSION"'],
];

export function normalise(text: string, folder: string): string {
  const here = text.replaceAll(folder, "FILE");
  const plain = rules.reduce((out, [pattern, by]) => out.replace(pattern, by), here).replace(/[ \t]+$/gm, "");
  try {
    return `${JSON.stringify(ordered(JSON.parse(plain)), null, 1)}\n`;
  } catch {
    return plain;
  }
}

/** istioctl itself, which is connected while it asks. */
const asker = "test-1.default";

/** Go prints maps, and istiod what is in them, in no order that means something. */
function ordered(value: unknown): unknown {
  if (Array.isArray(value)) {
    const kept = value.filter((item) => !JSON.stringify(item).includes(`"${asker}`));
    return kept.map(ordered).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  }
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).filter(([key]) => key !== asker);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, inner]) => [key, ordered(inner)]));
}
