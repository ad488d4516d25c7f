import { expect, test } from "vitest";
import { createHostClaims } from "./host-claims.ts";

const all = new Map([
  ["80/a", "1"],
  ["80/~epoch", "e"],
  ["70/b", "2"],
]);
const isAsked = (route: string): boolean => route === "80";

test("hosts are matched once, when the first request on routes was seen, and taken once", () => {
  const claims = createHostClaims();
  claims.note(all);
  expect(claims.match(isAsked)).toBeUndefined();
  claims.firstVersions(new Map());
  expect(claims.match(isAsked)).toBe(all);
  expect(claims.match(isAsked)).toBeUndefined();
  expect([...claims.routes()]).toEqual(["80"]);
  expect(claims.take("80")).toEqual({ epoch: "e", hosts: new Map([["80/a", "1"]]) });
  expect([claims.has("80"), claims.take("80")]).toEqual([false, undefined]);
});

test("what is said a second time is not believed", () => {
  const claims = createHostClaims();
  const initial = new Map([["80", "1"]]);
  expect([claims.firstVersions(initial), claims.firstVersions(initial).size]).toEqual([initial, 0]);
  claims.note(new Map());
  claims.match(isAsked);
  claims.note(all);
  expect(claims.match(isAsked)).toBeUndefined();
});

test("hosts are awaited until they are claimed or given up, and not once they were", () => {
  const claims = createHostClaims();
  const awaitedAfter = (act: () => void): boolean => {
    act();
    return claims.areAwaited();
  };
  const { expect: expectHosts, giveUpWaiting, note } = claims;
  expect(claims.areAwaited()).toBe(false);
  expect([expectHosts, giveUpWaiting].map(awaitedAfter)).toEqual([true, false]);
  expect([expectHosts, () => note(all), expectHosts].map(awaitedAfter)).toEqual([true, false, false]);
});
