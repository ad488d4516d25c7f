/** Outcomes of tests in; the XML that CI systems read out. */
import { printable } from "../../lib/index.ts";
import type { TestOutcome } from "./run.ts";

export function junitXml(outcomes: readonly TestOutcome[]): string {
  const files = Map.groupBy(outcomes, ({ file }) => file);
  const failed = (list: readonly TestOutcome[]): number => list.filter(({ failures }) => failures.length > 0).length;
  const seconds = (list: readonly TestOutcome[]): string =>
    (list.reduce((sum, { ms }) => sum + ms, 0) / 1000).toFixed(3);
  const suites = [...files].map(([file, list]) => {
    const cases = list.map(
      (one) =>
        `    <testcase name="${escaped(one.name)}" classname="${escaped(file)}" time="${seconds([one])}">${
          one.failures.length === 0
            ? ""
            : `<failure message="${escaped(one.failures[0] ?? "")}">${escaped(one.failures.join("\n"))}</failure>`
        }</testcase>\n`,
    );
    return `  <testsuite name="${escaped(file)}" tests="${list.length}" failures="${failed(list)}" time="${seconds(list)}">\n${cases.join("")}  </testsuite>\n`;
  });
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites tests="${outcomes.length}" failures="${failed(outcomes)}" time="${seconds(outcomes)}">\n${suites.join("")}</testsuites>\n`;
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
};

/** Control characters, which XML cannot have, are shown as `printable` shows them on a terminal. */
const escaped = (text: string): string =>
  text
    .toWellFormed()
    .split("\n")
    .map((line) => printable(line).replace(/[&<>"\ufffe\uffff]/g, (one) => entities[one] ?? ""))
    .join("&#10;");
