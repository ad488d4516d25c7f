import { expect, test } from "vitest";
import { parseRouteName } from "./egress.ts";
import { type HostIndex, hostOfRoute, indexHosts } from "./host-index.ts";
import { type PlannedHost, withKey } from "./host-plan.ts";

const host = (name: string, ...domains: readonly string[]): PlannedHost =>
  withKey({ name, domains, owner: name, virtualService: undefined, service: undefined });

const found = (index: HostIndex, name: string): PlannedHost | undefined => {
  const parsed = parseRouteName(name);
  return parsed && hostOfRoute(index, parsed);
};

const a = host("a.com:80", "a.com", "short");
const b = host("b.com:80", "other.com");
const everybody = indexHosts({ hosts: [a, b], refused: new Map([["a.com:80", ["VirtualService/x/young"]]]) });

test.each([
  ["by its name", "a.com:80", a],
  ["by a domain", "short:80", a],
  ["by a domain of a host with another name", "other.com:80", b],
  ["not by a name that is none of its domains", "b.com:80", undefined],
  ["not where there is none", "c.com:80", undefined],
])("a host is found %s", (_how, name, wanted) => {
  expect(found(everybody, name)).toBe(wanted);
});

test("what a client has instead comes before what everybody has", () => {
  const mine = host("a.com:80", "a.com", "short", "bare");
  const index = indexHosts({ hosts: [mine], refused: new Map() }, everybody);
  expect(["a.com:80", "short:80", "bare:80", "other.com:80"].map((name) => found(index, name))).toEqual([
    mine,
    mine,
    mine,
    b,
  ]);
  expect([index.refused("a.com:80"), index.refused("b.com:80")]).toEqual([["VirtualService/x/young"], []]);
});
