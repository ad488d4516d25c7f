/** What was compared in; the lines that a person reads, or the JSON that programs read, out. */

import type { Summary } from "../../control-plane/index.ts";
import type { Risk } from "../../explain/index.ts";
import { printable } from "../../lib/index.ts";
import { classesData, classLine, section, sentenceLine, sentencesData, typeWord } from "../diff/report.ts";
import { originsText } from "../why/causes-text.ts";
import type { Blamed } from "./blame.ts";

export interface RehearsalReport extends Summary {
  /** Where istiod was asked. */
  readonly istiod: readonly string[];
  readonly proxies: number;
  readonly resources: number;
  readonly differences: readonly Blamed[];
  readonly warnings: readonly string[];
  readonly notes: readonly string[];
  /** Those of `--fail-on` that were met. */
  readonly failed: readonly Risk[];
}

export interface TextOptions {
  /** All fields of all resources that differ. */
  readonly isFull: boolean;
}

/** More resources than these, and more fields of one, are shown on request. */
const maxShown = 10;
const maxLines = 4;

export function textReport(report: RehearsalReport, { isFull }: TextOptions): string {
  const { sentences, classes, proxies, resources, differences, warnings, notes, failed } = report;
  const counts = `${proxies === 1 ? "1 proxy" : `${proxies} proxies`}, ${resources} different resources`;
  const lines =
    differences.length === 0
      ? [`equal: Fairlead would send what istiod sends (${counts})`]
      : [
          `different: ${differences.length} of what istiod sends would not be the same (${counts})`,
          ...["", "with Fairlead instead of istiod"],
          ...sentences.map((sentence) => sentenceLine(sentence, proxies)),
          ...["", "classes of proxies"],
          ...classes.map(classLine),
        ];
  const shown = isFull ? differences : differences.slice(0, maxShown);
  const more = differences.length - shown.length;
  lines.push(
    ...section("what differs (- istiod, + Fairlead)", [
      ...shown.flatMap((one) => blamedLines(one, isFull)),
      ...(more > 0 ? [`and ${more} more; --resources shows all`] : []),
    ]),
    ...section("Fairlead says of the objects", warnings),
    ...section("taken for granted", notes),
  );
  if (failed.length > 0) lines.push("", `fails because of ${failed.join(", ")}`);
  return `${lines.map(printable).join("\n")}\n`;
}

function blamedLines({ type, name, who, hosts, proxies, from, lines }: Blamed, isFull: boolean): readonly string[] {
  const [first] = hosts;
  const part =
    first === undefined ? "" : `, ${hosts.length === 1 ? first : `${first} and ${hosts.length - 1} more hosts`}`;
  const owner = who === "both" ? "" : `, of ${who}`;
  const shown = who !== "both" && !isFull ? [] : isFull ? lines : lines.slice(0, maxLines);
  const more = who === "both" ? lines.length - shown.length : 0;
  return [
    `${typeWord(type)} ${name}${part}${owner} (${proxies === 1 ? "1 proxy" : `${proxies} proxies`})`,
    `  made from ${originsText(from)}`,
    ...shown.map((line) => `  ${line}`),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ];
}

/** The shape is kept: programs read it. */
export const reportData = ({ sentences, classes, ...rest }: RehearsalReport): object => ({
  equal: rest.differences.length === 0,
  changes: sentencesData(sentences),
  classes: classesData(classes),
  ...rest,
});
