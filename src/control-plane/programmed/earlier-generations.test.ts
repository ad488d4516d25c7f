import { expect, test } from "vitest";
import type { Resource } from "../../model/index.ts";
import { createEarlierGenerations } from "./earlier-generations.ts";

const resource = (name: string, hash: string): Resource => ({ name, hash, needs: [], pieces: [], size: 0 });
const reach = (name: string, ...hashes: readonly string[]) =>
  new Map([[name, new Set(hashes.map((hash) => resource(name, hash)))]]);

test("a change that overtakes another has what either was made in place of", () => {
  const generations = createEarlierGenerations();
  generations.add("a", { version: 1, isGone: false }, reach("80", "one", "two"));
  generations.add("a", { version: 2, isGone: false }, reach("80", "two", "three"));
  expect(generations.get("a")).toEqual({
    ...{ version: 2, isGone: false },
    earlier: new Map([["80", new Set(["one", "two", "three"])]]),
  });
  expect(generations.size).toBe(4);
});

test("an object that has the name of one that has gone begins anew", () => {
  const generations = createEarlierGenerations();
  generations.add("a", { version: 1, isGone: true }, reach("80", "one"));
  generations.add("a", { version: 2, isGone: false }, new Map());
  expect(generations.get("a")).toEqual({ version: 2, isGone: false, earlier: new Map() });
  expect(generations.size).toBe(1);
});

test("what is not needed goes, and is counted no longer", () => {
  const generations = createEarlierGenerations();
  generations.add("a", { version: 1, isGone: false }, reach("80", "one", "two"));
  generations.add("b", { version: 1, isGone: false }, reach("81", "three"));
  generations.keep("a", (hash) => hash === "two");
  generations.keep("b", () => false);
  generations.keep("c", () => false);
  expect(
    [...generations.entries()].map(([id, { earlier }]) => [id, [...earlier.values()].map((all) => [...all])]),
  ).toEqual([
    ["a", [["two"]]],
    ["b", []],
  ]);
  expect(generations.size).toBe(3);
  for (const id of ["a", "b", "c"]) generations.delete(id);
  expect(generations.size).toBe(0);
});
