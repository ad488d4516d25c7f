/** Data in, istioctl's JSON and YAML out; beyond these the forms that all commands have. */
import type { JsonValue } from "@bufbuild/protobuf";
import { FairleadError, isRecord, readRecord, readText } from "../../lib/index.ts";
import { parseOutput } from "../output.ts";
import { printJson, printSortedYaml } from "../print.ts";
import type { Style, View } from "./view.ts";

export type Format = "short" | "json" | "yaml";

export function parseFormat(text: string): Format {
  if (text === "short" || text === "json" || text === "yaml") return text;
  throw new FairleadError("invalid", notSupported(text));
}

const istioctls: ReadonlySet<string> = new Set<Format>(["short", "json", "yaml"]);

export function printView(view: View, format: string, style: Style): string {
  if (istioctls.has(format)) {
    const own = parseFormat(format);
    return own === "short" ? view.short(style) : printData(view.json(), own);
  }
  const data = (): JsonValue => view.json();
  return printerOf(format)({ plain: () => view.short(style), data, names: () => namesIn(data()) });
}

function printerOf(format: string): ReturnType<typeof parseOutput> {
  try {
    return parseOutput(format, "short");
  } catch (cause) {
    // A mistake in a template has words of its own.
    return format.includes("=") ? raise(cause) : raise(new FairleadError("invalid", notSupported(format), { cause }));
  }
}

const raise = (error: unknown): never => {
  throw error;
};

const notSupported = (format: string): string => `output format ${JSON.stringify(format)} not supported`;

/** Members have a name themselves, or are wrapped once, as in Envoy's dumps. */
function namesIn(data: JsonValue): readonly string[] {
  const members: readonly unknown[] = Array.isArray(data) ? data : [data];
  return members.filter(isRecord).flatMap((member) => {
    const inner = Object.values(member).find(isRecord);
    const name = nameOf(member) || nameOf(readRecord(inner));
    return name === "" ? [] : [name];
  });
}

const nameOf = ({ name, clusterName }: Readonly<Record<string, unknown>>): string =>
  readText(name) || readText(clusterName);

export function printData(data: JsonValue, format: "json" | "yaml"): string {
  return format === "json" ? printJson(data, 4) : `${printSortedYaml(data)}\n`;
}
