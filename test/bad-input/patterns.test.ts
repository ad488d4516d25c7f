/** W07: the same verdict on patterns as Go's regexp, which Istio's own validation asks. */
import { expect, test } from "vitest";
import { reviewAdmissionText } from "../../src/config/index.ts";
import { compilePattern } from "../../src/lib/index.ts";
import { almostPatterns } from "./patterns.ts";

/** Whether Go 1.26 takes the pattern, one bit each. */
const verdicts = Buffer.from(
  "KW4BI2IRYEhI3bRZDBGwRnMAQwSS1wppkgqRgKZUgoAAlAEAVDJIyBBUMCCMBT+BwtkuQAJwBIoERBsOJiGHPRQAlQ0VCRKwDUiQm4JArOBBHJ+4iNjKIQAIpTtCcCJAQqgGI0SRrWKGcwBCChCHFECBaTkyzgNTkgCabAByAkCkWWgIZOwY4ggQvYIrswBMFAEkwDgrKDwC5EMAAGhogIYWPJJYFASgTSKMqgQHTZp8DEQEoSau5LWAGkTBLBFkxQYaADhjBTYpIJRagiCIqIDBAQYHD4ACAIJ2AoQUqoCATWEaEAEaQI/aqAPRT0CrgRTNChkIiloFhnkgAAlEYCwCQYeapTWtRiAACp4MgiXpJXCaM2gFAUAKAsAAFmMAGFROoUADIdgENABW",
  "base64",
);

/** Go takes a name twice in its newer spelling, and refuses it in the older one. */
const known: ReadonlySet<string> = new Set(["(?<m>a)(?<m>a)"]);

const taken = (pattern: string): boolean => !("error" in compilePattern(pattern));

test("W07: 2,400 patterns get the verdict that Go gives them", () => {
  const patterns = almostPatterns(7, 2400);
  const different = patterns.filter((pattern, i) => taken(pattern) !== (((verdicts[i >> 3] ?? 0) >> (i & 7)) & 1) > 0);
  expect(different.filter((pattern) => !known.has(pattern))).toEqual([]);
  expect(patterns.filter(taken).length).toBeGreaterThan(500);
});

test.each([
  ["(a+)+$", true],
  ["(a|aa)+$", true],
  ["(.*)*x", true],
  ["a".repeat(1025), false],
  ["a{1001}", false],
  ["((a{100}){10}){10}", false],
  ["(?=a)", false],
  ["(a)\\1", false],
  ["\\C", false],
  ["(".repeat(1000), false],
])("W07: %s", (pattern, expected) => {
  expect(taken(pattern)).toBe(expected);
});

test("W07: what backtracks elsewhere costs no more than its text is long", () => {
  const compiled = compilePattern("(a+)+$");
  if ("error" in compiled) throw new Error(compiled.error);
  const cost = (length: number): bigint => {
    const before = process.cpuUsage();
    compiled.find(`${"a".repeat(length)}!`);
    const { user } = process.cpuUsage(before);
    return BigInt(user);
  };
  cost(1000);
  // Backtracking would take for ever; a bound that no loaded machine breaks tells the two apart.
  expect(cost(5000)).toBeLessThan(20_000_000n);
});

/** A VirtualService with that many patterns, each another. */
const review = (patterns: readonly string[]): string =>
  JSON.stringify({
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: {
      uid: "u",
      operation: "CREATE",
      object: {
        apiVersion: "networking.istio.io/v1",
        kind: "VirtualService",
        metadata: { name: "v", namespace: "n" },
        spec: {
          hosts: ["a.example.com"],
          http: patterns.map((regex) => ({ match: [{ uri: { regex } }], route: [{ destination: { host: "a" } }] })),
        },
      },
    },
  });

test("W07: patterns that would hold up the loop while they are compiled are refused before they are", () => {
  const heavy = Array.from({ length: 1000 }, (_, i) => `${"\\pL{1000}".repeat(60)}${i}`);
  const before = process.cpuUsage();
  const { allowed, status } = reviewAdmissionText(review(heavy)).review.response;
  const { user } = process.cpuUsage(before);
  expect(allowed).toBe(false);
  expect(status?.message).toContain("too large to compile");
  // To compile them all takes a minute.
  expect(user).toBeLessThan(20_000_000);
});

test("W07: more patterns than can be compiled while others wait are refused", () => {
  const many = Array.from({ length: 8_000 }, (_, i) => `/a${i}[a-z]+.*(x|y)+`);
  const { allowed, status } = reviewAdmissionText(review(many)).review.response;
  expect(allowed).toBe(false);
  expect(status?.message).toContain("its patterns are together too large to compile");
});

test("W07: a thousand ordinary patterns, and a heavy one of its own, are taken as Go takes them", () => {
  const ordinary = Array.from({ length: 1000 }, (_, i) => `^/api/v[0-9]{1,3}/(users|orders)/[a-z-]{2,40}/${i}$`);
  expect(reviewAdmissionText(review(ordinary)).review.response.allowed).toBe(true);
  expect(reviewAdmissionText(review(["a{1000}b{1000}", "(a|b|c){100}"])).review.response.allowed).toBe(true);
});
