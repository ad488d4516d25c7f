import { fromJson } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { RouteConfigurationSchema } from "../../gen/envoy/config/route/v3/route_pb.js";
import { findVirtualHost } from "./virtual-host.ts";

const config = (ignorePortInHostMatching: boolean) =>
  fromJson(RouteConfigurationSchema, {
    ignorePortInHostMatching,
    virtualHosts: [
      { name: "rest", domains: ["*"] },
      { name: "suffix", domains: ["*.example.com"] },
      { name: "longer suffix", domains: ["*.shop.example.com"] },
      { name: "prefix", domains: ["www.*"] },
      { name: "exact", domains: ["a.example.com"] },
    ],
  });

test.each([
  ["a.example.com", "exact"],
  ["A.Example.com", "exact"],
  ["a.example.com:8080", "exact"],
  ["b.example.com", "suffix"],
  ["x.shop.example.com", "longer suffix"],
  // Suffixes go before prefixes.
  ["www.example.com", "suffix"],
  ["www.other.test", "prefix"],
  ["example.com", "rest"],
  ["", "rest"],
])("%s is served by %s", (authority, expected) => {
  expect(findVirtualHost(config(true), authority)?.host.name).toBe(expected);
});

test("a port counts unless the configuration says otherwise", () => {
  expect(findVirtualHost(config(false), "a.example.com:8080")?.host.name).toBe("rest");
});
