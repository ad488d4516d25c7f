import { createRegistry, type DescMessage, type MessageShape, toJson } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import {
  DirectResponseActionSchema,
  RedirectActionSchema,
  RouteAction_HashPolicySchema,
  RouteAction_RequestMirrorPolicySchema,
} from "../../gen/envoy/config/route/v3/route_components_pb.js";
import { CorsPolicySchema } from "../../gen/envoy/extensions/filters/http/cors/v3/cors_pb.js";
import { HTTPFaultSchema } from "../../gen/envoy/extensions/filters/http/fault/v3/fault_pb.js";
import type { CorsPolicy, DestinationRuleSpec, HTTPFaultInjection, HTTPRedirect } from "../../model/index.ts";
import { corsPolicy } from "./cors.ts";
import { destinationCluster } from "./destination.ts";
import { directResponse } from "./direct-response.ts";
import { fault } from "./fault.ts";
import { hashOfDestination, hashOfService, hashPolicy } from "./hash-policy.ts";
import { authorityEdit, headerEdits } from "./headers.ts";
import { mirrorPolicies } from "./mirror.ts";
import { redirectAction } from "./redirect.ts";
import { pathRewrite } from "./rewrite.ts";
import { timeouts } from "./timeout.ts";

const registry = createRegistry();
const json = <Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc> | undefined) =>
  message && toJson(schema, message, { registry });

describe("redirect", () => {
  const redirect = (written: HTTPRedirect, tls = false, port = 8080) =>
    json(RedirectActionSchema, redirectAction(written, { port, tls }));

  test.each<[HTTPRedirect, object]>([
    [{}, { pathRedirect: "" }],
    [
      { uri: "/a", authority: "b" },
      { pathRedirect: "/a", hostRedirect: "b" },
    ],
    [{ prefixRewrite: "/p", uri: "/ignored" }, { prefixRewrite: "/p" }],
    [
      { redirectCode: 308, scheme: "https" },
      { pathRedirect: "", schemeRedirect: "https", responseCode: "PERMANENT_REDIRECT" },
    ],
    [{ port: 80 }, { pathRedirect: "" }],
    [{ port: 443 }, { pathRedirect: "", portRedirect: 443 }],
    [
      { port: 443, scheme: "https" },
      { pathRedirect: "", schemeRedirect: "https" },
    ],
    [{ derivePort: "FROM_REQUEST_PORT" }, { pathRedirect: "", portRedirect: 8080 }],
    [{ derivePort: "FROM_PROTOCOL_DEFAULT" }, { pathRedirect: "" }],
  ])("%j", (written, expected) => {
    expect(redirect(written)).toEqual(expected);
  });

  test("the usual port follows the listener's scheme", () => {
    expect(redirect({ derivePort: "FROM_REQUEST_PORT" }, true, 443)).toEqual({ pathRedirect: "" });
    expect(redirect({ derivePort: "FROM_REQUEST_PORT" }, false, 443)).toMatchObject({ portRedirect: 443 });
  });

  test("a status that is no redirect is refused", () => {
    expect(redirect({ redirectCode: 304 })).toBeUndefined();
  });
});

test("direct responses: text, bytes, and what Envoy refuses", () => {
  const response = (written: Parameters<typeof directResponse>[0]) =>
    json(DirectResponseActionSchema, directResponse(written));
  expect(response({ status: 503, body: { string: "no" } })).toEqual({ status: 503, body: { inlineString: "no" } });
  expect(response({ status: 200, body: { bytes: "aGk=" } })).toEqual({ status: 200, body: { inlineBytes: "aGk=" } });
  expect(response({ status: 200, body: { string: "x".repeat(1024 * 1024 + 1) } })).toEqual({ status: 200 });
});

describe("fault", () => {
  test.each<[HTTPFaultInjection, object]>([
    [
      { delay: { fixedDelay: "5s", percentage: { value: 12.3456789 } } },
      { delay: { fixedDelay: "5s", percentage: { numerator: 123456, denominator: "MILLION" } } },
    ],
    [{ delay: { fixedDelay: "5s", percent: 10 } }, { delay: { fixedDelay: "5s", percentage: { numerator: 10 } } }],
    [{ delay: { exponentialDelay: "5s" } }, {}],
    [{ delay: { fixedDelay: "-1s" } }, {}],
    [
      { abort: { grpcStatus: "UNAVAILABLE", percentage: { value: 100 } } },
      { abort: { grpcStatus: 14, percentage: { numerator: 1000000, denominator: "MILLION" } } },
    ],
    [{ abort: { httpStatus: 418 } }, { abort: { httpStatus: 418 } }],
    [{ abort: { http2Error: "x" } }, {}],
  ])("%j", (injection, expected) => {
    expect(json(HTTPFaultSchema, fault(injection))).toEqual(expected);
  });
});

describe("cors", () => {
  const cors = (policy: CorsPolicy) => json(CorsPolicySchema, corsPolicy(policy));

  test("every field", () => {
    expect(
      cors({
        allowOrigins: [{ exact: "https://a" }, { regex: "(" }, { prefix: "https://b" }],
        allowOrigin: ["ignored"],
        allowMethods: ["GET", "POST"],
        allowHeaders: ["a"],
        exposeHeaders: ["b", "c"],
        maxAge: "1h30m",
        allowCredentials: false,
        unmatchedPreflights: "IGNORE",
      }),
    ).toEqual({
      allowOriginStringMatch: [{ exact: "https://a" }, { prefix: "https://b" }],
      allowMethods: "GET,POST",
      allowHeaders: "a",
      exposeHeaders: "b,c",
      maxAge: "5400",
      allowCredentials: false,
      filterEnabled: { defaultValue: { numerator: 100 } },
      forwardNotMatchingPreflights: false,
    });
  });

  test("the old list of origins, and the defaults", () => {
    expect(cors({ allowOrigin: ["*"] })).toEqual({
      allowOriginStringMatch: [{ exact: "*" }],
      filterEnabled: { defaultValue: { numerator: 100 } },
      forwardNotMatchingPreflights: true,
    });
  });
});

test("mirrors: all of it by default, none for an explicit zero", () => {
  const shares = (route: Parameters<typeof mirrorPolicies>[0]) =>
    mirrorPolicies(route, ({ host = "" }) => host)
      .map((policy) => json(RouteAction_RequestMirrorPolicySchema, policy))
      .map((policy) => policy);
  const rest = { traceSampled: false, disableShadowHostSuffixAppend: true };
  expect(
    shares({
      mirror: { host: "a" },
      mirrors: [{ destination: { host: "b" }, percentage: { value: 0.5 } }, { percentage: { value: 1 } }],
    }),
  ).toEqual([
    { cluster: "a", runtimeFraction: { defaultValue: { numerator: 100 } }, ...rest },
    { cluster: "b", runtimeFraction: { defaultValue: { numerator: 5000, denominator: "MILLION" } }, ...rest },
  ]);
  expect(shares({ mirror: { host: "a" }, mirrorPercentage: { value: 0 } })).toEqual([]);
  expect(shares({ mirror: { host: "a" }, mirrorPercentage: {}, mirrorPercent: 10 })).toEqual([]);
  expect(shares({ mirror: { host: "a" }, mirrorPercent: 10 })).toMatchObject([
    { runtimeFraction: { defaultValue: { numerator: 10 } } },
  ]);
  expect(shares({ mirror: { host: "a" }, mirror_percent: 0 })).toEqual([]);
});

test("header operations: set before add, by name, without what Envoy refuses", () => {
  const headers = {
    request: {
      set: { b: "1", a: "2", Host: "h" },
      add: { ":authority": "added", c: "3" },
      remove: ["x", ":path", "HOST"],
    },
    response: { add: { z: "1" }, set: { y: "2" } },
  };
  const edits = headerEdits(headers);
  expect(edits.requestHeadersToAdd.map(({ header, appendAction }) => [header?.key, appendAction])).toEqual([
    ["a", 2],
    ["b", 2],
    ["c", 0],
  ]);
  expect(edits.requestHeadersToRemove).toEqual(["x"]);
  expect(edits.responseHeadersToAdd.map(({ header }) => header?.key)).toEqual(["y", "z"]);
  expect(authorityEdit(headers)).toBe("h");
  expect(authorityEdit({ request: { add: { ":authority": "added" } } })).toBe("added");
});

test("rewrites of the path", () => {
  expect(pathRewrite({ uri: "/a" }, "virtual-service", "")).toEqual({ prefixRewrite: "/a" });
  expect(pathRewrite({ uri: "/", authority: "x" }, "virtual-service", "")).toEqual({ prefixRewrite: "/" });
  expect(pathRewrite({ uri: "/" }, "gateway-api", "/v1.0")).toEqual({
    regexRewrite: { pattern: { regex: "^/v1\\.0(/?)(.*)" }, substitution: "/\\2" },
  });
  expect(
    pathRewrite({ uriRegexRewrite: { match: "^/a(.*)$", rewrite: "/\\1" }, uri: "/b" }, "virtual-service", ""),
  ).toEqual({
    regexRewrite: { pattern: { regex: "^/a(.*)$" }, substitution: "/\\1" },
  });
});

describe("hash policies", () => {
  const header = { consistentHash: { httpHeaderName: "all" } };
  const rule: DestinationRuleSpec = {
    trafficPolicy: {
      loadBalancer: header,
      portLevelSettings: [
        { port: { number: 81 }, loadBalancer: { consistentHash: { useSourceIp: true } } },
        { port: { number: 82 } },
      ],
    },
    subsets: [
      { name: "v1" },
      { name: "v2", trafficPolicy: { loadBalancer: { consistentHash: { httpQueryParameterName: "q" } } } },
      {
        name: "v3",
        trafficPolicy: {
          loadBalancer: { consistentHash: { httpQueryParameterName: "q" } },
          portLevelSettings: [{ port: { number: 81 }, loadBalancer: { consistentHash: { httpHeaderName: "p" } } }],
        },
      },
    ],
  };

  test.each<[string | undefined, number | undefined, object]>([
    [undefined, undefined, { httpHeaderName: "all" }],
    [undefined, 81, { useSourceIp: true }],
    [undefined, 82, { httpHeaderName: "all" }],
    ["v1", 81, { useSourceIp: true }],
    ["v2", 81, { httpQueryParameterName: "q" }],
    ["v3", 81, { httpHeaderName: "p" }],
    ["v3", 80, { httpQueryParameterName: "q" }],
    ["none", undefined, { httpHeaderName: "all" }],
  ])("subset %s port %s", (subset, number, expected) => {
    const destination = { host: "h", ...(subset ? { subset } : {}), ...(number ? { port: { number } } : {}) };
    expect(hashOfDestination(rule, destination)).toEqual(expected);
  });

  test("without VirtualService the service's port counts", () => {
    expect(hashOfService(rule, 81)).toEqual({ useSourceIp: true });
    expect(hashOfService(rule, 82)).toEqual({ httpHeaderName: "all" });
  });

  test("cookies with all they have", () => {
    const cookie = { name: "c", path: "/", ttl: "0s", attributes: [{ name: "SameSite", value: "Strict" }] };
    expect(json(RouteAction_HashPolicySchema, hashPolicy({ httpCookie: cookie }))).toEqual({ cookie });
    expect(hashPolicy({ httpCookie: { path: "/" } })).toBeUndefined();
    expect(hashPolicy({ ringHash: {} })).toBeUndefined();
  });
});

test("the cluster of a destination", () => {
  const service = { ports: [{ port: 9080 }] };
  expect(destinationCluster({ host: "a" }, undefined, 80)).toBe("outbound|80||a");
  expect(destinationCluster({ host: "a", subset: "v1" }, service, 80)).toBe("outbound|9080|v1|a");
  expect(destinationCluster({ host: "a", port: { number: 1 } }, service, 80)).toBe("outbound|1||a");
  expect(destinationCluster({ host: "a" }, { ports: [{ port: 1 }, { port: 2 }] }, 80)).toBe("outbound|80||a");
  expect(destinationCluster({ host: "a" }, { ports: [], externalName: "b" }, 80)).toBe("outbound|80||b");
  expect(destinationCluster({}, undefined, 80)).toBe("UnknownService");
});

test("timeouts that Envoy would refuse are none", () => {
  expect(timeouts("-1s").timeout).toMatchObject({ seconds: 0n, nanos: 0 });
  expect(timeouts("1.5s").maxGrpcTimeout).toMatchObject({ seconds: 1n, nanos: 500_000_000 });
});
