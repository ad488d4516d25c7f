/** A plugin's settings in; their text out as Istio writes it: keys in order, and nothing that HTML could take for a tag. */
import { compareText, isRecord } from "../../lib/index.ts";

export function printPluginJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(printPluginJson).join(",")}]`;
  if (isRecord(value)) {
    const members = Object.entries(value).sort(([a], [b]) => compareText(a, b));
    return `{${members.map(([key, member]) => `${quote(key)}:${printPluginJson(member)}`).join(",")}}`;
  }
  return typeof value === "string" ? quote(value) : JSON.stringify(value ?? null);
}

/** Escapes as Go's encoding/json does. */
function quote(text: string): string {
  return JSON.stringify(text).replace(
    /[<>&\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
