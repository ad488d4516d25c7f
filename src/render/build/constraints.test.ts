import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import {
  RouteMatchSchema,
  RouteSchema,
  VirtualHostSchema,
} from "../../gen/envoy/config/route/v3/route_components_pb.js";
import { FaultDelaySchema } from "../../gen/envoy/extensions/filters/common/fault/v3/fault_pb.js";
import { CorsPolicySchema } from "../../gen/envoy/extensions/filters/http/cors/v3/cors_pb.js";
import { brokenConstraint } from "./constraints.ts";

const prefix = { case: "prefix", value: "/" } as const;

test("what Envoy takes breaks nothing", () => {
  const route = create(RouteSchema, {
    match: { pathSpecifier: prefix, headers: [{ name: "a" }] },
    action: { case: "route", value: { clusterSpecifier: { case: "cluster", value: "c" }, prefixRewrite: "/x" } },
  });
  expect(brokenConstraint(RouteSchema, route)).toBeUndefined();
  expect(
    brokenConstraint(VirtualHostSchema, create(VirtualHostSchema, { name: "a", domains: ["*"], routes: [route] })),
  ).toBeUndefined();
});

test("each kind of rule names its field", () => {
  const broken = (init: Parameters<typeof create<typeof RouteSchema>>[1]) =>
    brokenConstraint(RouteSchema, create(RouteSchema, init));
  const match = { pathSpecifier: prefix };
  const action = { case: "directResponse", value: { status: 200 } } as const;
  expect(broken({ match, action })).toBeUndefined();
  expect(broken({ action })).toBe("match");
  expect(broken({ match })).toBe("action");
  expect(broken({ match: {}, action })).toBe("match.pathSpecifier");
  expect(broken({ match, action: { case: "directResponse", value: { status: 100 } } })).toBe(
    "action.directResponse.status",
  );
  expect(broken({ match: { ...match, headers: [{ name: "a" }, { name: "" }] }, action })).toBe("match.headers[1].name");
  expect(broken({ match, action, requestHeadersToRemove: ["a", "b\n"] })).toBe("requestHeadersToRemove[1]");
  expect(
    broken({ match, action, requestHeadersToAdd: Array.from({ length: 1001 }, () => ({ header: { key: "a" } })) }),
  ).toBe("requestHeadersToAdd");
  expect(broken({ match: { pathSpecifier: { case: "pathSeparatedPrefix", value: "/a/" } }, action })).toBe(
    "match.pathSpecifier.pathSeparatedPrefix",
  );
});

test("durations, matchers in lists, and messages that contain themselves", () => {
  const delay = create(FaultDelaySchema, { faultDelaySecifier: { case: "fixedDelay", value: { seconds: 0n } } });
  expect(brokenConstraint(FaultDelaySchema, delay)).toBe("faultDelaySecifier.fixedDelay");
  const cors = create(CorsPolicySchema, { allowOriginStringMatch: [{ matchPattern: { case: "prefix", value: "" } }] });
  expect(brokenConstraint(CorsPolicySchema, cors)).toBe("allowOriginStringMatch[0].matchPattern.prefix");
  const claim = create(RouteMatchSchema, {
    pathSpecifier: prefix,
    dynamicMetadata: [
      {
        filter: "f",
        path: [{ segment: { case: "key", value: "k" } }],
        value: {
          matchPattern: {
            case: "orMatch",
            value: { valueMatchers: [{ matchPattern: { case: "presentMatch", value: true } }, {}] },
          },
        },
      },
    ],
  });
  expect(brokenConstraint(RouteMatchSchema, claim)).toBe(
    "dynamicMetadata[0].value.matchPattern.orMatch.valueMatchers[1].matchPattern",
  );
});
