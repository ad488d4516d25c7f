import { toJson } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { RouteMatchSchema } from "../../gen/envoy/config/route/v3/route_components_pb.js";
import type { HTTPMatchRequest } from "../../model/index.ts";
import { isUsableRouteMatch, routeMatch, takesEverything } from "./match.ts";
import type { RouteSemantics } from "./semantics.ts";

const json = (match: HTTPMatchRequest | undefined, semantics: RouteSemantics = "virtual-service") =>
  toJson(RouteMatchSchema, routeMatch(match, semantics));

describe("routeMatch", () => {
  test("no match takes every path and says nothing about case", () => {
    expect(json(undefined)).toEqual({ prefix: "/" });
  });

  test.each<[HTTPMatchRequest["uri"], object]>([
    [{ exact: "/a" }, { path: "/a" }],
    [{ prefix: "/a/" }, { prefix: "/a/" }],
    [{ regex: "/a.*" }, { safeRegex: { regex: "/a.*" } }],
    [undefined, { prefix: "/" }],
    [{}, { prefix: "/" }],
  ])("uri %j", (uri, expected) => {
    expect(json(uri ? { uri } : {})).toEqual({ ...expected, caseSensitive: true });
  });

  test("prefixes of Ingress and Gateway API end at a slash", () => {
    expect(json({ uri: { prefix: "/a/" } }, "ingress")).toMatchObject({ pathSeparatedPrefix: "/a" });
    expect(json({ uri: { prefix: "/a" } }, "gateway-api")).toMatchObject({ pathSeparatedPrefix: "/a" });
    expect(json({ uri: { prefix: "/" } }, "gateway-api")).toMatchObject({ prefix: "/" });
  });

  test("headers by name, wanted before unwanted, pseudo headers last", () => {
    const match = json({
      headers: { "x-b": { exact: "1" }, "x-a": {} },
      withoutHeaders: { "x-a": { regex: "no" }, "x-0": { regex: "*" } },
      scheme: { exact: "https" },
      method: { prefix: "P" },
      authority: { regex: "a.*" },
    });
    expect(match).toMatchObject({
      headers: [
        { name: "x-0", presentMatch: true, invertMatch: true },
        { name: "x-a", presentMatch: true },
        {
          name: "x-a",
          stringMatch: { safeRegex: { regex: "no" } },
          invertMatch: true,
          treatMissingHeaderAsEmpty: true,
        },
        { name: "x-b", stringMatch: { exact: "1" } },
        { name: ":method", stringMatch: { prefix: "P" } },
        { name: ":authority", stringMatch: { safeRegex: { regex: "a.*" } } },
        { name: ":scheme", stringMatch: { exact: "https" } },
      ],
    });
  });

  test("an empty prefix asks only for presence, because Envoy refuses it", () => {
    expect(json({ headers: { a: { prefix: "" } }, queryParams: { q: { prefix: "" } } })).toMatchObject({
      headers: [{ name: "a", presentMatch: true }],
      queryParameters: [{ name: "q", presentMatch: true }],
    });
  });

  test("claims of a token are matched in metadata, by dots or brackets", () => {
    const match = json({
      headers: { "@request.auth.claims.group.id": { exact: "x" }, "@request.auth.claims": { exact: "plain" } },
      withoutHeaders: { "@request.auth.claims[a.b][c]": { prefix: "y" } },
    });
    expect(match).toMatchObject({
      headers: [{ name: "@request.auth.claims" }],
      dynamicMetadata: [
        { filter: "envoy.filters.http.jwt_authn", path: [{ key: "payload" }, { key: "group" }, { key: "id" }] },
        { path: [{ key: "payload" }, { key: "a.b" }, { key: "c" }], invert: true },
      ],
    });
  });
});

test.each<[HTTPMatchRequest, boolean]>([
  [{ uri: { regex: "(" } }, false],
  [{ uri: { regex: "*" } }, false],
  [{ headers: { a: { regex: "[" } } }, false],
  [{ headers: { "": { exact: "a" } } }, false],
  [{ withoutHeaders: { a: { regex: "(?=x)" } } }, false],
  [{ queryParams: { a: { regex: "*" } } }, true],
  [{ authority: { regex: "a{1" } }, true],
])("%j is usable: %s", (match, usable) => {
  expect(isUsableRouteMatch(match, routeMatch(match, "virtual-service"))).toBe(usable);
});

test.each<[HTTPMatchRequest | undefined, boolean]>([
  [undefined, true],
  [{ uri: { prefix: "/" } }, true],
  [{ uri: { regex: ".*" } }, true],
  [{ uri: { prefix: "/a" } }, false],
  [{ headers: { a: {} } }, false],
  [{ queryParams: { a: {} } }, false],
  [{ headers: { "@request.auth.claims.a": { exact: "b" } } }, false],
])("%j takes everything: %s", (match, everything) => {
  expect(takesEverything(routeMatch(match, "virtual-service"))).toBe(everything);
});
