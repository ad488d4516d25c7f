/** Messages in; the text that istioctl prints for them out. */
import type { AnalysisLevel, AnalysisMessage } from "../../config/index.ts";
import { goJson, printable } from "../../lib/index.ts";
import { istioVersion } from "../../model/index.ts";
import { escaped, printYaml } from "../print.ts";

export const istioctlFormats = ["log", "json", "yaml"] as const;

export type AnalyzeFormat = (typeof istioctlFormats)[number];

export interface LocatedMessage extends AnalysisMessage {
  /** `file:line`; absent for objects of the cluster. */
  readonly reference?: string | undefined;
}

export const documentation = `https://istio.io/v${istioVersion.split(".").slice(0, 2).join(".")}/docs/reference/config/analysis`;

export function formatMessages(messages: readonly LocatedMessage[], format: AnalyzeFormat, color: boolean): string {
  if (format === "log") return messages.map((message) => formatLog(message, color)).join("\n");
  const data = messageData(messages);
  return format === "json" ? escaped(goJson(data, "\t")) : printYaml(data);
}

const colors: Readonly<Record<AnalysisLevel, string>> = { Info: "", Warning: "\u001b[33m", Error: "\u001b[1;31m" };

function formatLog(message: LocatedMessage, color: boolean): string {
  const level = color ? `${colors[message.level]}${message.level}\u001b[0m` : message.level;
  const place = message.reference === undefined ? "" : ` ${message.reference}`;
  return `${level} [${message.code}] (${printable(`${originOf(message)}${place}`)}) ${printable(message.message)}`;
}

export const messageData = (messages: readonly LocatedMessage[]): readonly object[] => messages.map(plain);

export const originOf = ({ kind, namespace, name }: AnalysisMessage): string =>
  `${kind} ${namespace === "" ? "" : `${namespace}/`}${name}`;

/** Members in the order of their names, as Go prints maps. */
function plain(message: LocatedMessage): Readonly<Record<string, string>> {
  const { code, level, reference } = message;
  return {
    code,
    documentationUrl: code.startsWith("IST")
      ? `${documentation}/${code.toLowerCase()}/?ref=istioctl-analyze`
      : "docs/reference/coverage.md",
    level,
    message: message.message,
    origin: originOf(message),
    ...(reference === undefined ? {} : { reference }),
  };
}
