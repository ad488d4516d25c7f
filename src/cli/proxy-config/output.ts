/** Data in, istioctl's JSON and YAML out. */
import type { JsonValue } from "@bufbuild/protobuf";
import { FairleadError } from "../../lib/index.ts";
import { printSortedYaml } from "../print.ts";
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
