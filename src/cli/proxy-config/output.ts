/** Data in, istioctl's JSON and YAML out. */
import type { JsonValue } from "@bufbuild/protobuf";
import { dump } from "js-yaml";
import { FairleadError } from "../../lib/index.ts";
import type { Style, View } from "./view.ts";

export type Format = "short" | "json" | "yaml";

export function parseFormat(text: string): Format {
  if (text === "short" || text === "json" || text === "yaml") return text;
  throw new FairleadError("invalid", `output format ${JSON.stringify(text)} not supported`);
}

export function printView(view: View, format: Format, style: Style): string {
  return format === "short" ? view.short(style) : printData(view.json(), format);
}

export function printData(data: JsonValue, format: "json" | "yaml"): string {
  return format === "json" ? `${JSON.stringify(data, null, 4)}\n` : `${printSortedYaml(data)}\n`;
}

/** As sigs.k8s.io/yaml writes: keys in order, lists not indented, no folded lines. */
export function printSortedYaml(data: unknown): string {
  return dump(data, { noRefs: true, lineWidth: -1, sortKeys: true, seqNoIndent: true });
}
