import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const text = readFileSync(join(root, "docs/reference/past-holes.md"), "utf8");
const rows = [...text.matchAll(/^\| ([RDCP]\d\d) \|(.*)\| `([^`]+)` \| (.+) \|$/gm)].map(
  ([, id = "", what = "", file = "", title = ""]) => ({ id, what: what.trim(), file, title }),
);

/** Those of traffic management, then those of the control plane's own ports, then what it makes and may do, then those of security, then those of certificates, then those of hostile Pods. */
const wanted = [
  ..."R06 R21 R34 D01 D02 D03 D06".split(" "),
  ..."R04 R26 R30 R35 R45 R46".split(" "),
  ..."R05 R07 R18 R24 R25 R28 R29 R32 R41 R47 D09".split(" "),
  ..."R01 R02 R03 R08 R09 R10 R13 R14 R15 R16 R17 R19 R20 R22 R23 R27 R31 R33 R36 R37 R40 R42 R43 R44".split(" "),
  ..."D04 D05 D07 D08".split(" "),
  ...Array.from({ length: 17 }, (_, i) => `C${String(i + 1).padStart(2, "0")}`),
  ..."P01 P02 P03 P04 P05".split(" "),
];

test("docs/reference/past-holes.md has every hole, once explained, and nothing unreadable", () => {
  expect(new Set(rows.map(({ id }) => id))).toEqual(new Set(wanted));
  expect(
    rows
      .filter(({ what }) => what !== "")
      .map(({ id }) => id)
      .sort(),
  ).toEqual([...wanted].sort());
  expect(rows).toHaveLength(text.split("\n").filter((line) => /^\| [^i-]/.test(line)).length);
});

/** What stands first in the call of a test or of a group of tests, be it on the next line. */
function titlesIn(file: string): ReadonlySet<string> {
  const source = readFileSync(join(root, file), "utf8");
  return new Set(
    [...source.matchAll(/(?<=[^\\]\(\s*)"((?:[^"\\]|\\.)+)"(?=,\s)/g)].map(([, title = ""]) =>
      JSON.parse(`"${title}"`),
    ),
  );
}

test.each(rows)("$id: $file has the test that it is said to have", ({ file, title }) => {
  expect(file).toMatch(/\.test\.ts$/);
  expect(existsSync(join(root, file)), file).toBe(true);
  expect(titlesIn(file)).toContain(title);
});
