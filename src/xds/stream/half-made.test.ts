import { expect, test } from "vitest";
import { resource } from "../testing.ts";
import { HalfMade, type Said } from "./half-made.ts";

const version = (text: string) => resource("a", text);
const refused = (text: string) => ({ hash: version(text).hash, words: text });
const passedOver = (halfMade: HalfMade, said: Said) =>
  [...halfMade.passedOver(() => said)].map(([, { words }]) => words);

test("the same version is passed over for as long as nothing else comes", () => {
  const halfMade = new HalfMade();
  halfMade.note("a", refused("one"));
  const same = { resource: version("one") };
  expect(passedOver(halfMade, same)).toEqual(["one"]);
  // A response without a word of it.
  expect(passedOver(halfMade, undefined)).toEqual([]);
  expect(passedOver(halfMade, same)).toEqual(["one"]);
  expect(passedOver(halfMade, { resource: version("other") })).toEqual([]);
  expect(passedOver(halfMade, same)).toEqual([]);
});

test("what it leaves out is looked at when it comes again", () => {
  const halfMade = new HalfMade();
  halfMade.note("a", refused("one"));
  expect(passedOver(halfMade, { resource: undefined })).toEqual([]);
  expect(passedOver(halfMade, { resource: version("one") })).toEqual([]);
});

test("of versions that were refused one after the other any may be there, and not all are remembered", () => {
  const halfMade = new HalfMade();
  for (let i = 0; i < 20; i++) halfMade.note("a", refused(`${i}`));
  expect(passedOver(halfMade, { resource: version("19") })).toEqual(["19"]);
  expect(passedOver(halfMade, { resource: version("12") })).toEqual(["12"]);
  expect(passedOver(halfMade, { resource: version("11") })).toEqual([]);
});
