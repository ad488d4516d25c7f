import { expect, test } from "vitest";
import { parseAccessLog } from "./access-log.ts";

const line =
  '[2026-11-15T20:00:00.000Z] "GET /admin?x=1 HTTP/1.1" 403 - rbac_access_denied_matched_policy[ns[shop]-policy[deny]-rule[0]] - "-" 0 19 1 - "203.0.113.7" "curl/8.5 (x)" "id" "web:80" "-" inbound|8080|| - 10.0.0.1:8080 10.0.0.9:43210 outbound_.80_._.web.shop.svc.cluster.local default';

test("reads Istio's line", () => {
  expect(parseAccessLog(`web-1 istio-proxy ${line}`)).toEqual({
    method: "GET",
    path: "/admin?x=1",
    protocol: "HTTP/1.1",
    status: 403,
    flags: [],
    details: "rbac_access_denied_matched_policy[ns[shop]-policy[deny]-rule[0]]",
    authority: "web:80",
    forwardedFor: "203.0.113.7",
    userAgent: "curl/8.5 (x)",
    upstreamHost: "",
    cluster: "inbound|8080||",
    local: { ip: "10.0.0.1", port: 8080 },
    remote: { ip: "10.0.0.9", port: 43210 },
    sni: "outbound_.80_._.web.shop.svc.cluster.local",
    route: "default",
  });
});

test("reads Istio's JSON", () => {
  const fields = {
    response_code: 503,
    response_flags: "UF,URX",
    method: "GET",
    path: "/",
    protocol: "HTTP/2",
    authority: "web",
    downstream_local_address: "[2001:db8::1]:80",
    downstream_remote_address: "10.0.0.9:1",
    upstream_cluster: "outbound|80||web.shop.svc.cluster.local",
    route_name: null,
  };
  expect(parseAccessLog(JSON.stringify(fields))).toMatchObject({
    status: 503,
    flags: ["UF", "URX"],
    local: { ip: "2001:db8::1", port: 80 },
    route: "",
    protocol: "HTTP/2",
  });
});

test("reads a line of TCP", () => {
  const tcp =
    '[2026-11-15T20:00:00.000Z] "- - -" 0 NR filter_chain_not_found - "-" 0 0 0 - "-" "-" "-" "-" "-" - - 10.0.0.1:9090 10.0.0.9:1 - -';
  expect(parseAccessLog(tcp)).toMatchObject({
    method: "",
    protocol: "",
    status: 0,
    flags: ["NR"],
    details: "filter_chain_not_found",
  });
});

test("anything else is no such line", () => {
  for (const text of [
    "",
    "hello",
    "{",
    "{}",
    "[1]",
    '[2026-11-15T20:00:00.000Z] "GET / HTTP/1.1" 200',
    '{"a":"b"}',
    "\u0000".repeat(10),
  ])
    expect(parseAccessLog(text), text).toBeUndefined();
});
