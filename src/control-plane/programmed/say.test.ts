import { expect, test } from "vitest";
import { sayVerdict } from "./say.ts";

const verdict = { generation: 3, isMade: true, affected: 9, acknowledged: 2, refusing: [], waiting: [] };
const refusing = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ proxy: `p${i}.ns`, part: "LDS l", words: "no" }));
const names = (count: number) => Array.from({ length: count }, (_, i) => `w${i}.ns`);

test.each([
  [{ ...verdict, acknowledged: 9 }, "Programmed", "9/9 proxies have acknowledged generation 3"],
  [{ ...verdict, affected: 0 }, "NoProxyAffected", "0/0: no connected proxy is sent anything because of it"],
  [{ ...verdict, isMade: false }, "Pending", "generation 3 is not rendered yet"],
  [
    { ...verdict, waiting: names(7) },
    "Pending",
    "2/9 proxies have acknowledged generation 3; no answer yet of w0.ns, w1.ns, w2.ns, w3.ns, w4.ns and 2 more",
  ],
  [
    { ...verdict, refusing: refusing(6), waiting: names(1) },
    "RejectedByProxy",
    "2/9 proxies have acknowledged generation 3; p0.ns refused LDS l: no; p1.ns refused LDS l: no; p2.ns refused LDS l: no; p3.ns refused LDS l: no; p4.ns refused LDS l: no; 1 more refused it; no answer yet of w0.ns",
  ],
])("%j", (given, reason, message) => {
  expect(sayVerdict(given)).toEqual({ isDone: !["Pending", "RejectedByProxy"].includes(reason), reason, message });
});

test("with several control planes the count is that of one", () => {
  expect(sayVerdict({ ...verdict, acknowledged: 9 }, 3).message).toBe(
    "9/9 proxies of one of 3 control planes have acknowledged generation 3",
  );
});

test("long words of many proxies are cut", () => {
  const long = refusing(5).map((one) => ({ ...one, words: "x".repeat(1000) }));
  expect(sayVerdict({ ...verdict, refusing: long }).message.length).toBeLessThanOrEqual(2001);
});
