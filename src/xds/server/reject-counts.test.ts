import { expect, test } from "vitest";
import { noMetrics } from "../metrics.ts";
import { createRejectCounts } from "./reject-counts.ts";

function begin() {
  const told = new Map<string, number>();
  const counts = createRejectCounts({
    ...noMetrics,
    set: (name, value, labels) => void told.set(`${name} ${labels?.node} ${labels?.err}`, value),
    remove: (name, labels) => void told.delete(`${name} ${labels.node} ${labels.err}`),
  });
  return { counts, told };
}

test("refusals are counted by proxy and code, until its last stream has ended", () => {
  const { counts, told } = begin();
  const [first, second] = [counts.open("web.shop"), counts.open("web.shop")];
  first.count("pilot_xds_cds_reject", 13);
  second.count("pilot_xds_cds_reject", 13);
  second.count("pilot_xds_lds_reject", 3);
  counts.open("api.shop").count("pilot_xds_cds_reject", 1);
  expect(Object.fromEntries(told)).toEqual({
    "pilot_xds_cds_reject web.shop Internal": 2,
    "pilot_xds_lds_reject web.shop InvalidArgument": 1,
    "pilot_xds_cds_reject api.shop Canceled": 1,
  });
  first.close();
  expect(told.size).toBe(3);
  second.close();
  expect([...told.keys()]).toEqual(["pilot_xds_cds_reject api.shop Canceled"]);
});

test("whatever proxies make up, there are few labels", () => {
  const { counts, told } = begin();
  const odd = counts.open('x"} 7\n');
  for (let code = 0; code < 1000; code++) odd.count("pilot_xds_eds_reject", code);
  expect(told.size).toBe(17);
  expect(told.get("pilot_xds_eds_reject other OK")).toBe(1);
  expect(told.get("pilot_xds_eds_reject other Unknown")).toBe(984);
  const many = Array.from({ length: 3000 }, (_, i) => counts.open(`pod-${i}.shop`));
  for (const one of many) one.count("pilot_xds_rds_reject", 13);
  expect(told.size).toBeLessThan(1100);
  for (const one of [odd, ...many]) one.close();
  expect([...told.keys()]).toEqual([]);
  // Who comes after them has its own again.
  counts.open("late.shop").count("pilot_xds_rds_reject", 13);
  expect([...told.keys()]).toEqual(["pilot_xds_rds_reject late.shop Internal"]);
});

test("of one proxy there are few codes", () => {
  const { counts, told } = begin();
  const web = counts.open("web.shop");
  for (const code of [13, 3, 5, 13, 6, 99]) web.count("pilot_xds_lds_reject", code);
  web.count("pilot_xds_cds_reject", 5);
  expect(Object.fromEntries(told)).toEqual({
    "pilot_xds_lds_reject web.shop Internal": 2,
    "pilot_xds_lds_reject web.shop InvalidArgument": 1,
    "pilot_xds_lds_reject web.shop Unknown": 3,
    "pilot_xds_cds_reject web.shop NotFound": 1,
  });
  web.close();
  expect(told.size).toBe(0);
});
