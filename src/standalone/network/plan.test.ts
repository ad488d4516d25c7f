import { describe, expect, test } from "vitest";
import { addressesOf, overlap, parseCidr, placeOf, planNetwork, rangePairs } from "./plan.ts";

describe("the plan of a mesh network", () => {
  test("the same folder always gives the same names and ranges; two folders differ", () => {
    const [a, again, b] = ["/data/a", "/data/a", "/data/b"].map((dataDir) => planNetwork({ dataDir }));
    expect(again).toEqual(a);
    expect(b?.prefix).not.toBe(a?.prefix);
    expect(a?.hostAddress).toMatch(/^10\.\d+\.0\.1$/);
    // A device's name has at most 15 characters, and gets one more letter.
    expect(a?.prefix.length).toBeLessThan(14);
  });

  test("ranges of one's own are taken, and overlapping ones refused", () => {
    const plan = planNetwork({ dataDir: "/x", podCidr: "192.168.50.0/24", serviceCidr: "192.168.51.0/24" });
    expect(plan).toMatchObject({ hostAddress: "192.168.50.1", prefixLength: 24 });
    expect(() => planNetwork({ dataDir: "/x", podCidr: "10.1.0.0/16", serviceCidr: "10.1.2.0/24" })).toThrow("overlap");
  });

  test.each(["10.0.0.0", "10.0.0.0/33", "10.0.0.0/29", "300.0.0.0/16", "::/64", "10.0.0.0/16; rm", ""])(
    "%j is no range",
    (text) => {
      expect(() => parseCidr(text, "--pod-cidr")).toThrow("--pod-cidr");
    },
  );

  test("ranges overlap when one holds the other or they are the same", () => {
    const range = (text: string) => parseCidr(text, "range");
    expect(overlap(range("10.0.0.0/8"), range("10.9.0.0/16"))).toBe(true);
    expect(overlap(range("10.1.0.0/16"), range("10.2.0.0/16"))).toBe(false);
    expect(overlap(range("10.1.255.0/24"), range("10.2.0.0/16"))).toBe(false);
  });

  test("an address has its place in its range, and none in another", () => {
    for (const [cidr, address, place] of [
      ["10.0.0.0/16", "10.0.0.10", 10],
      ["10.0.0.0/16", "10.0.1.2", 258],
      ["10.1.0.0/16", "10.0.0.10", 0],
      ["10.0.0.0/28", "10.0.0.16", 0],
      ["10.0.0.0/16", "", 0],
      ["10.0.0.0/16", "fd00::1", 0],
    ] as const)
      expect(placeOf(cidr, address), address).toBe(place);
    expect([...addressesOf("10.0.0.0/28", placeOf("10.0.0.0/28", "10.0.0.13"))]).toEqual(["10.0.0.14"]);
  });

  test("addresses leave out the network's own, the broadcast and the low ones", () => {
    expect([...addressesOf("10.0.0.0/28", 9)]).toEqual([
      "10.0.0.10",
      "10.0.0.11",
      "10.0.0.12",
      "10.0.0.13",
      "10.0.0.14",
    ]);
  });
});

test("pairs of ranges that are passed over lead to all others, each apart, under the same names", () => {
  const plans = Array.from({ length: rangePairs }, (_, passed) => planNetwork({ dataDir: "/a", passed }));
  const ranges = plans.flatMap(({ podCidr, serviceCidr }) => [podCidr, serviceCidr]);
  expect(new Set(ranges).size).toBe(2 * rangePairs);
  for (const range of ranges) expect(range).toMatch(/^10\.(1[3-9]\d|2[0-4]\d)\.0\.0\/16$/);
  expect(new Set(plans.map(({ prefix }) => prefix)).size).toBe(1);
});
