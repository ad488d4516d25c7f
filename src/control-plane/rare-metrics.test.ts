import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { chanceMetrics, rareMetrics } from "./testing-rare-metrics.ts";

/** A value behind the name, as Prometheus is told it or as the test looks it up; an empty text or a zero is none. */
const valueOf = (metric: string): RegExp => {
  const exported = String.raw`(?:\b|\\n)${metric}(?:\\?\{.*?\\?\})? (?:[1-9]|(?:\\S\*)?\[1-9\]|\$\{)`;
  const lookedUp = String.raw`[( ]"${metric}".{0,80}\)\.to(?:Be|Equal)\((?:[1-9]|"[1-9])`;
  return new RegExp(`${exported}|${lookedUp}`, "s");
};

/** Whether one of its statements expects a value. */
const expectsValue = (source: string, metric: string): boolean =>
  source
    .split(/;\n/)
    .some((statement) => /\bexpect(?:\.poll|\s+\.poll)?\(/.test(statement) && valueOf(metric).test(statement));

test("a value is expected, not a name", () => {
  for (const line of [
    'expect(text).toContain("some_total");\n',
    "expect(text).toMatch(/^some_total/m);\n",
    'expect(text).toContain("some_total 0");\n',
    'expect(counts.get("some_total")).toBe(0);\n',
    'const told = "some_total 1";\nexpect(text).toContain("other_total 1");\n',
  ])
    expect(expectsValue(line, "some_total"), line).toBe(false);
  for (const line of [
    'expect(counts.get("some_total")).toBe(1);\n',
    String.raw`expect(text).toMatch(/^some_total\{why="this"\} [1-9]/m);`,
    String.raw`expect(text).toMatch(/^some_total \S*[1-9]/m);`,
  ])
    expect(expectsValue(line, "some_total"), line).toBe(true);
});

test.each([...rareMetrics, ...chanceMetrics])("%s: %s expects a value of it", async (metric, file) => {
  expect(expectsValue(await readFile(new URL(file, import.meta.url), "utf8"), metric)).toBe(true);
});
