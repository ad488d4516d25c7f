import { expect, test } from "vitest";
import { hostCovers, hostsOverlap } from "../../model/index.ts";
import { indexHosts, overlappingHosts } from "./host-index.ts";

const hosts = ["a.com", "*.a.com", "b.a.com", "*", "a.com", "*.b.a.com", "*.a.com", "xa.com", "*a.com", "10.0.0.1"];

test.each(hosts)("%s is covered by the hosts that the rule names", (host) => {
  const places = [...hosts.keys()].filter((i) => hostCovers(hosts[i] ?? "", host));
  expect([...indexHosts(hosts).covering(host)].sort()).toEqual(places);
});

test("every pair that overlaps is found, in order, up to the limit", () => {
  const pairs = hosts.flatMap((a, i) => hosts.flatMap((b, j) => (i < j && hostsOverlap(a, b) ? [[i, j]] : [])));
  expect(overlappingHosts(hosts, 1000)).toEqual(pairs);
  expect(overlappingHosts(hosts, 3)).toHaveLength(3);
});
