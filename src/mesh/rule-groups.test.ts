import { describe, expect, test } from "vitest";
import { groupRules, membersOf, membersSaid, type RuleHead } from "./rule-groups.ts";

const rule = (name: string, more: Partial<RuleHead> = {}): RuleHead => ({
  ...{ key: `n/${name}`, meta: { name, namespace: "n" }, host: "a.com", pools: ["local"], selector: undefined },
  exportTo: more.selector ? ["."] : [],
  ...more,
});

/** Members of each group, with whom it is for. */
function grouped(...rules: readonly RuleHead[]): Readonly<Record<string, string>> {
  const made = groupRules(rules);
  const said = (ref: string): string => (membersSaid(ref) ?? []).map((key) => key.slice(2)).join();
  return Object.fromEntries([
    ...made.selected.map(({ selector, ref }) => [JSON.stringify(selector), said(ref)]),
    ...made.open.map(({ exportTo, ref }) => [exportTo.join(), said(ref)]),
  ]);
}

describe("rules of one host", () => {
  test("are one where they are for the same clients, first one by age", () => {
    const old = { name: "z", namespace: "n", creationTimestamp: "2024" };
    const young = { ...old, name: "b", creationTimestamp: "2025" };
    expect(grouped(rule("b", { meta: young }), rule("z", { meta: old }))).toEqual({ "": "z,b" });
  });

  test("join those that fewer clients see, and stand for themselves where the last does not take them in", () => {
    expect(
      grouped(rule("a", { exportTo: ["x"] }), rule("b", { exportTo: ["x", "y"] }), rule("c", { exportTo: ["z"] })),
    ).toEqual({ x: "a,b", z: "c" });
  });

  test("of those that do not join, the last with the same visibility is what clients have", () => {
    const [x, y] = [{ exportTo: ["x"] }, { exportTo: ["y"] }];
    const made = groupRules([
      rule("a", x),
      rule("b", y),
      rule("c", x),
      rule("d", y),
      rule("e", { exportTo: ["x", "y"] }),
    ]);
    expect(made.open.map(({ exportTo, members }) => [exportTo, members])).toEqual([
      [["x"], ["n/c", "n/e"]],
      [["y"], ["n/d", "n/e"]],
    ]);
  });

  test("with a selector are apart by it, in whatever order its labels are", () => {
    const [v1, v2] = [{ selector: { v: "1", a: "b" } }, { selector: { v: "2" } }];
    expect(grouped(rule("a", v1), rule("b", v2), rule("c", { selector: { a: "b", v: "1" } }))).toEqual({
      '{"v":"1","a":"b"}': "a,c",
      '{"v":"2"}': "b",
    });
  });

  test("without a selector join all that have one, where clients of the namespace see them", () => {
    const [v1, v2] = [rule("v1", { selector: { v: "1" } }), rule("v2", { selector: { v: "2" } })];
    expect(grouped(v1, v2, rule("a"), rule("b", { exportTo: [".", "x"] }))).toEqual({
      ...{ '{"v":"1"}': "v1,b", '{"v":"2"}': "v2,b" },
      ...{ "": "a", ".,x": "b" },
    });
  });

  test("for their own namespace alone have no group beside one with a selector, as in Istio", () => {
    const own = { exportTo: ["."] };
    expect(grouped(rule("a", own))).toEqual({ ".": "a" });
    expect(grouped(rule("v", { selector: { v: "1" } }), rule("a", own))).toEqual({ '{"v":"1"}': "v,a" });
  });
});

test("a reference does not grow with the members, and leads to them", () => {
  const selectors = ["1", "2"].map((v) => rule(`v${v}`, { selector: { v } }));
  const many = Array.from({ length: 1000 }, (_, i) => rule(`r${i}`, { exportTo: ["*", "."] }));
  const made = groupRules([...selectors, ...many]);
  const groups = [...made.selected, ...made.open];
  expect(groups.map(({ ref }) => ref.length > 400)).toEqual([false, false, false]);
  expect(new Set(groups.map(({ ref }) => ref)).size).toBe(3);
  expect(groups.map(({ ref }) => membersSaid(ref) ?? membersOf(made, ref)?.length)).toEqual([1001, 1001, 1000]);
  const again = groupRules([...many, ...selectors]);
  expect([...again.selected, ...again.open].map(({ ref }) => ref)).toEqual(groups.map(({ ref }) => ref));
  const others = groupRules([...selectors, ...many.slice(1)]);
  for (const { ref } of groups) expect(membersOf(others, ref)).toBeUndefined();
});

test("rules that alternate between clients are not members of a group for each of them", () => {
  const alternating = Array.from({ length: 1000 }, (_, i) => rule(`r${i}`, { exportTo: [i % 2 === 0 ? "x" : "y"] }));
  expect(groupRules(alternating).open.map(({ members }) => members.length)).toEqual([1, 1]);
});

test("a rule for clients of its own is not compared with all others, whoever sees all of them", () => {
  let looks = 0;
  const get = (target: readonly string[], key: string | symbol): unknown => {
    looks++;
    return Reflect.get(target, key);
  };
  const counted = (...names: string[]): RuleHead["exportTo"] => new Proxy<readonly string[]>(names, { get });
  const work = (count: number, ...all: string[]): number => {
    looks = 0;
    groupRules(Array.from({ length: count }, (_, i) => rule(`r${i}`, { exportTo: counted(...all, `n${i}`) })));
    return looks;
  };
  expect(work(500)).toBeLessThan(11 * work(50));
  expect(work(500, "a", "b")).toBeLessThan(11 * work(50, "a", "b"));
  expect(work(500, ".", "z")).toBeLessThan(11 * work(50, ".", "z"));
});

test("a rule with a selector of its own is not compared with all others", () => {
  let looks = 0;
  const ownKeys = (target: object): (string | symbol)[] => {
    looks++;
    return Reflect.ownKeys(target);
  };
  const counted = (i: number): RuleHead["selector"] => new Proxy<Record<string, string>>({ v: `${i}` }, { ownKeys });
  const work = (count: number): number => {
    looks = 0;
    groupRules(Array.from({ length: count }, (_, i) => rule(`r${i}`, { selector: counted(i) })));
    return looks;
  };
  const few = work(50);
  expect(few).toBeGreaterThan(0);
  expect(work(500)).toBe(10 * few);
});
