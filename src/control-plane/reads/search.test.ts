import { expect, test } from "vitest";
import { searchResources } from "./search.ts";

const types = [
  { type: "LDS", names: ["a", "b"], show: (name: string) => ({ name, port: 80 }) },
  { type: "CDS", names: ["c"], show: () => ({ lists: Array.from({ length: 10 }, () => "Needle") }) },
];

test("finds lines wherever they are, few of each, whatever the case", async () => {
  const { lines, resources, isWhole } = await searchResources(types, " NEEDLE ");
  expect(lines).toEqual(Array.from({ length: 3 }, () => ({ type: "CDS", name: "c", line: '"Needle",' })));
  expect([resources, isWhole]).toEqual([1, true]);
});

test("looks for nothing where nothing is asked, and says where it has stopped", async () => {
  for (const words of ["", " ", "x"]) expect((await searchResources(types, words)).lines).toEqual([]);
  const many = [{ type: "CDS", names: Array.from({ length: 500 }, (_, i) => `c${i}`), show: () => ({ needle: 1 }) }];
  const { lines, isWhole } = await searchResources(many, "needle");
  expect([lines.length, isWhole]).toEqual([200, false]);
});

test("what is hidden takes no room from what is seen, and is not counted", async () => {
  const names = [...Array.from({ length: 300 }, (_, i) => `bravo-${i}`), "own"];
  const types = [{ type: "CDS", names, show: (name: string) => ({ name, host: "shop" }) }];
  const found = await searchResources(types, "shop", async (_, name) => name === "own");
  expect(found).toMatchObject({ lines: [{ type: "CDS", name: "own" }], resources: 1, isWhole: true });
});
