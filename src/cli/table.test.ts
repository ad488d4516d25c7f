import { expect, test } from "vitest";
import { printTable, printTabs } from "./table.ts";

test("columns are as wide as their widest cell and the gap; the last cell is left as it is", () => {
  expect(
    printTabs(
      [
        ["NAME", "TYPE", "RULE"],
        ["a-long-name", "EDS", ""],
      ],
      2,
    ),
  ).toBe("NAME         TYPE  RULE\na-long-name  EDS   \n");
});

test("a row with fewer cells ends the columns that it lacks", () => {
  expect(
    printTabs(
      [
        ["a", "b", "c"],
        ["wide", "x"],
        ["d", "eee", "f"],
      ],
      1,
    ),
  ).toBe("a    b c\nwide x\nd    eee f\n");
});

test("width counts characters, and a column has its least width", () => {
  expect(
    printTabs(
      [
        ["é", "x"],
        ["ab", "y"],
      ],
      1,
    ),
  ).toBe("é  x\nab y\n");
  expect(printTabs([["a", "x"]], 3, 6)).toBe("a     x\n");
});

test("control characters of a name cannot move the cursor", () => {
  expect(printTabs([["a\u001b[2J", "b"]], 1)).toBe("a\\u001b[2J b\n");
});

test("tables of our own have no blanks at the end of a line", () => {
  expect(printTable(["NAME", "WHY"], [["web", ""]])).toBe("NAME   WHY\nweb\n");
});

test("W13: what users wrote cannot steer a terminal", () => {
  const printed = printTable(["NAME", "HOSTS"], [["a\u001b[2J", "b\u202ec\u0007\u009b31m\r\nx"]]);
  expect(printed.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u);
  expect(printed.split("\n")).toHaveLength(3);
});
