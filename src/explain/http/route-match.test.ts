import { fromJson, type JsonObject } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { RouteMatchSchema } from "../../gen/envoy/config/route/v3/route_components_pb.js";
import type { HttpRequest } from "../request.ts";
import { mismatch } from "./route-match.ts";

const request = (change: Partial<HttpRequest> = {}): HttpRequest => ({
  method: "GET",
  path: "/a/b?x=1&y=&x=2",
  authority: "h",
  headers: [
    ["role", "admin"],
    ["many", "1"],
    ["many", "2"],
  ],
  version: "HTTP/1.1",
  ...change,
});

const matches = (match: JsonObject, change: Partial<HttpRequest> = {}): boolean =>
  mismatch(
    fromJson(RouteMatchSchema, {
      ...("headers" in match || "queryParameters" in match || "grpc" in match ? { prefix: "/" } : {}),
      ...match,
    }),
    { request: request(change), metadata: new Map(), peer: undefined, tls: false, sampled: () => true },
  ) === undefined;

test.each([
  [{ prefix: "/a" }, true],
  [{ prefix: "/A" }, false],
  [{ prefix: "/A", caseSensitive: false }, true],
  [{ path: "/a/b" }, true],
  [{ path: "/a" }, false],
  [{ safeRegex: { regex: "/a/." } }, true],
  [{ safeRegex: { regex: "/a" } }, false],
  [{ pathSeparatedPrefix: "/a" }, true],
  [{ pathSeparatedPrefix: "/a/b" }, true],
  [{ pathSeparatedPrefix: "/a/bb" }, false],
  [{ headers: [{ name: "Role", stringMatch: { exact: "admin" } }] }, true],
  [{ headers: [{ name: "role", stringMatch: { exact: "admin" }, invertMatch: true }] }, false],
  // Inverted, what is not there still is not compared.
  [{ headers: [{ name: "none", stringMatch: { exact: "x" }, invertMatch: true }] }, false],
  [
    { headers: [{ name: "none", stringMatch: { exact: "x" }, invertMatch: true, treatMissingHeaderAsEmpty: true }] },
    true,
  ],
  [{ headers: [{ name: "none", presentMatch: true, invertMatch: true }] }, true],
  [{ headers: [{ name: "many", stringMatch: { exact: "1,2" } }] }, true],
  [{ headers: [{ name: ":method", stringMatch: { exact: "GET" } }] }, true],
  [{ headers: [{ name: "many", rangeMatch: { start: "1", end: "3" } }] }, false],
  [{ queryParameters: [{ name: "x", stringMatch: { exact: "1" } }] }, true],
  [{ queryParameters: [{ name: "x", stringMatch: { exact: "2" } }] }, false],
  [{ queryParameters: [{ name: "y", presentMatch: true }] }, true],
  [{ queryParameters: [{ name: "z", presentMatch: true }] }, false],
  [{ grpc: {} }, false],
] as const)("%j: %s", (match, expected) => {
  expect(matches(match as JsonObject)).toBe(expected);
});

test("gRPC is known by its content type", () => {
  expect(matches({ grpc: {} }, { headers: [["content-type", "application/grpc+proto"]] })).toBe(true);
});
