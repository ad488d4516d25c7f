/** What would change in; the lines that a person reads, or the JSON that programs read, out. */
import type { Risk } from "../../explain/index.ts";
import { printable } from "../../lib/index.ts";
import type { DiffAnswer, DiffClass, DiffProxies, DiffResource, DiffSentence, DiffTold } from "../../read-api/index.ts";

export interface DiffReport extends DiffAnswer {
  /** Those of `--fail-on` that were met. */
  readonly failed: readonly Risk[];
}

export const isEmpty = ({ sentences, classes, added, removed }: DiffReport): boolean =>
  sentences.length + classes.length + added.length + removed.length === 0;

export function textReport(report: DiffReport): string {
  const { sentences, classes, proxies, added, removed, refused, ignored, warnings, notes, failed, resources } = report;
  const lines = sentences.map((sentence) => sentenceLine(sentence, proxies));
  for (const [names, word] of [
    [added, "new"],
    [removed, "gone"],
  ] as const)
    if (names.length > 0)
      lines.push(
        `  ${countWord({ count: names.length, proxies: names }, -1)} ${names.length === 1 ? "is" : "are"} ${word}`,
      );
  if (isEmpty(report)) lines.push(`nothing changes for ${proxies === 1 ? "the one proxy" : `${proxies} proxies`}`);
  if (classes.length > 0) lines.push("", "classes of proxies", ...classes.map(classLine));
  lines.push(
    ...section("resources", resources.flatMap(resourceLines)),
    ...section("would be refused", refused.map(toldLine)),
    ...section("would change nothing", ignored.map(toldLine)),
    ...section("warnings", warnings.map(toldLine)),
    ...section("taken for granted", notes),
  );
  if (failed.length > 0) lines.push("", `fails because of ${failed.join(", ")}`);
  return `${lines.map(printable).join("\n")}\n`;
}

export const section = (title: string, lines: readonly string[]): readonly string[] =>
  lines.length === 0 ? [] : ["", title, ...lines.map((line) => `  ${line}`)];

/** A mark tells those that can hurt; which risk it is stands behind. */
export function sentenceLine({ subject, text, risk, ...whom }: DiffSentence, all: number): string {
  const about = subject === "" ? "" : `${subject}: `;
  return `${risk === undefined ? " " : "!"} ${about}${text} for ${countWord(whom, all)}${risk === undefined ? "" : ` [${risk}]`}`;
}

function countWord({ count, proxies }: DiffProxies, all: number): string {
  const [only = ""] = proxies;
  if (count === 1) return only;
  if (count === all) return `all ${all} proxies`;
  return count <= 3 ? proxies.join(", ") : `${count} proxies`;
}

export function classLine({ count, proxies, resources }: DiffClass): string {
  const [first = ""] = proxies;
  const more = count > 1 ? ` and ${count - 1} more` : "";
  const counts = [...Map.groupBy(resources, ({ type, change }) => `${typeWord(type)} ${change}`)].map(
    ([what, { length }]) => `${length} ${what}`,
  );
  return `  ${String(count).padStart(5)}  ${first}${more}: ${counts.join(", ")}`;
}

export const typeWord = (type: string): string =>
  ({ Cluster: "cluster", ClusterLoadAssignment: "endpoint", Listener: "listener", RouteConfiguration: "route" })[
    type.slice(type.lastIndexOf(".") + 1)
  ] ?? "extension";

const resourceLines = ({ type, name, proxies, lines }: DiffResource): readonly string[] => [
  `${typeWord(type)} ${name} (${proxies === 1 ? "1 proxy" : `${proxies} proxies`})`,
  ...lines.map((line) => `  ${line}`),
];

const toldLine = ({ object, field, message }: DiffTold): string =>
  `${object.replace("/", " ")}${field === undefined ? "" : `, ${field}`}: ${message}`;

/** The shape is kept: programs read it. */
export function reportData(report: DiffReport): object {
  const { sentences, classes, ...rest } = report;
  return {
    changed: !isEmpty(report),
    changes: sentencesData(sentences),
    classes: classesData(classes),
    ...rest,
  };
}

/** Of a sentence; the count is always whole. */
const maxNames = 100;

export const sentencesData = (sentences: readonly DiffSentence[]): readonly object[] =>
  sentences.map(({ count, proxies, ...sentence }) => ({ ...sentence, count, proxies: proxies.slice(0, maxNames) }));

export const classesData = (classes: readonly DiffClass[]): readonly object[] =>
  classes.map(({ count, proxies, resources }) => ({ count, proxies: proxies.slice(0, maxNames), resources }));
