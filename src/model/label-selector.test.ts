import { describe, expect, test } from "vitest";
import { matchesRequirements, matchesSelector, parseLabelSelector } from "./label-selector.ts";

const matches = (selector: string, labels: Record<string, string> | undefined): boolean => {
  const parsed = parseLabelSelector(selector);
  if ("error" in parsed) throw new Error(parsed.error);
  return matchesRequirements(parsed, labels);
};

describe("label selector", () => {
  test.each([
    ["a=b", { a: "b" }, true],
    ["a==b", { a: "c" }, false],
    ["a!=b", {}, true],
    ["a!=b", { a: "b" }, false],
    ["a in (x, y),c", { a: "y", c: "" }, true],
    ["a notin (x,y)", { a: "x" }, false],
    ["!a", { a: "" }, false],
    ["!a", undefined, true],
    ["app.kubernetes.io/name=x", { "app.kubernetes.io/name": "x" }, true],
    ["n>5", { n: "6" }, true],
    ["n<5", { n: "6" }, false],
    ["", { a: "b" }, true],
    ["a=", { a: "" }, true],
    ["constructor", {}, false],
  ])("%s on %j is %s", (selector, labels, expected) => {
    expect(matches(selector, labels as Record<string, string> | undefined)).toBe(expected);
  });

  test.each(["a=b=c", "=b", "a in x", "a=$", "-a"])("%s is refused", (selector) => {
    expect(parseLabelSelector(selector)).toHaveProperty("error");
  });

  test("the object form: none matches nothing, empty everything", () => {
    expect(matchesSelector(undefined, {})).toBe(false);
    expect(matchesSelector({}, {})).toBe(true);
    expect(
      matchesSelector(
        { matchLabels: { a: "b" }, matchExpressions: [{ key: "c", operator: "Exists" }] },
        { a: "b", c: "d" },
      ),
    ).toBe(true);
  });
});
