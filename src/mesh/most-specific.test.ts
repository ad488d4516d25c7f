import { expect, test } from "vitest";
import { longestWildcard, mostSpecific } from "./most-specific.ts";

const others = Array.from({ length: 30 }, (_, i) => `*.other-${i}.org`);

test.each<[string, string | undefined]>([
  ["a.b.com", "a.b.com"],
  ["x.b.com", "*.b.com"],
  ["x.y.b.com", "*.b.com"],
  ["xb.com", "*b.com"],
  ["b.com", "*b.com"],
  [".b.com", "*.b.com"],
  ["com", undefined],
  ["c.net", undefined],
  ["*.b.com", "*.b.com"],
  ["*.x.b.com", "*.b.com"],
  ["*.com", "*.com"],
  ["*", undefined],
])("of few and many wildcards %s has the longest: %s", (host, found) => {
  const wildcards = ["*.com", "*.b.com", "*b.com", "*.d.b.com"];
  for (const all of [wildcards, [...others, ...wildcards], [...wildcards.toReversed(), ...others]])
    expect(mostSpecific(host, (name) => name === "a.b.com", all)).toBe(found);
});

test("what covers all covers what nothing else does", () => {
  for (const all of [["*"], [...others, "*"]])
    expect(["a", "", "*", "x.other-7.org"].map((name) => longestWildcard(name, all))).toEqual(
      all.length === 1 ? ["*", "*", "*", "*"] : ["*", "*", "*", "*.other-7.org"],
    );
});

test("of thousands of wildcards not each is compared with each name", () => {
  let looks = 0;
  const get = (target: readonly string[], key: string | symbol): unknown => {
    looks++;
    return Reflect.get(target, key);
  };
  const many = new Proxy<readonly string[]>(
    Array.from({ length: 2000 }, (_, i) => `*.x${i}.com`),
    { get },
  );
  const find = (i: number): string | undefined => longestWildcard(`a.x${i}.com`, many);
  expect(find(7)).toBe("*.x7.com");
  looks = 0;
  for (let i = 1900; i < 2100; i++) expect(find(i)).toBe(i < 2000 ? `*.x${i}.com` : undefined);
  expect(looks).toBe(0);
});
