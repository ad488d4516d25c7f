import { expect, test } from "vitest";
import { takesVirtualHosts } from "./takes-hosts.ts";

const node = {
  id: "",
  cluster: "",
  metadata: {},
  locality: { region: "", zone: "", subZone: "" },
  extensions: new Set(["envoy.filters.http.router"]),
};

test.each([
  ["envoy 1.40.0", true],
  ["envoy 1.37.0", true],
  ["envoy 2.0.1", true],
  ["envoy 1.36.4", false],
  ["envoy 1.4.0", false],
  ["envoy", false],
  ["gRPC Go 1.80.0", false],
  ["", false],
])("%j: %s", (userAgent, expected) => {
  expect(takesVirtualHosts({ ...node, userAgent })).toBe(expected);
});

test("Istio's own builds are left alone", () => {
  const userAgent = "envoy 1.40.0";
  expect(takesVirtualHosts({ ...node, userAgent, metadata: { ISTIO_PROXY_SHA: "istio-proxy:1" } })).toBe(false);
  expect(takesVirtualHosts({ ...node, userAgent, extensions: new Set(["istio.stats"]) })).toBe(false);
});
