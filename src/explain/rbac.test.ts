import { fromJson, type JsonObject } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { RBACSchema } from "../gen/envoy/config/rbac/v3/rbac_pb.js";
import { evaluateRbac, policyOrigin, type Subject } from "./rbac.ts";

const subject: Subject = {
  request: { method: "GET", path: "/admin/x?y", authority: "Web", headers: [["role", "a"]], version: "HTTP/1.1" },
  destination: { ip: "10.0.0.1", port: 8080 },
  source: "10.0.0.9",
  remote: "203.0.113.7",
  peer: "spiffe://cluster.local/ns/shop/sa/web",
  tls: true,
  sni: "",
  metadata: new Map([["jwt", { payload: { iss: "i", groups: ["dev", "ops"] } }]]),
};
const any = [{ any: true }];
const evaluate = (action: string, policies: JsonObject, who: Partial<Subject> = {}) =>
  evaluateRbac(fromJson(RBACSchema, { action, policies }), { ...subject, ...who });
const to = (...permissions: readonly JsonObject[]): JsonObject => ({
  p: { permissions: [...permissions], principals: any },
});
const from = (...principals: readonly JsonObject[]): JsonObject => ({
  p: { permissions: any, principals: [...principals] },
});

test.each([
  [to({ urlPath: { path: { prefix: "/admin/" } } }), true],
  [to({ urlPath: { path: { exact: "/admin/x?y" } } }), false],
  [to({ header: { name: ":authority", stringMatch: { exact: "web", ignoreCase: true } } }), true],
  [to({ destinationPort: 8080 }), true],
  [to({ notRule: { destinationPort: 8080 } }), false],
  [to({ andRules: { rules: [{ destinationPort: 8080 }, { destinationPort: 1 }] } }), false],
  [to({ orRules: { rules: [{ destinationPort: 1 }, { destinationPort: 8080 }] } }), true],
  [to({ destinationIp: { addressPrefix: "10.0.0.0", prefixLen: 30 } }), true],
  [from({ authenticated: { principalName: { exact: "spiffe://cluster.local/ns/shop/sa/web" } } }), true],
  [from({ authenticated: { principalName: { safeRegex: { regex: ".*/ns/shop/.*" } } } }), true],
  [from({ authenticated: {} }), true],
  [from({ directRemoteIp: { addressPrefix: "10.0.0.9", prefixLen: 32 } }), true],
  [from({ remoteIp: { addressPrefix: "203.0.113.0", prefixLen: 24 } }), true],
  [
    from({
      metadata: {
        filter: "jwt",
        path: [{ key: "payload" }, { key: "groups" }],
        value: { listMatch: { oneOf: { stringMatch: { exact: "ops" } } } },
      },
    }),
    true,
  ],
  [
    from({
      metadata: { filter: "jwt", path: [{ key: "payload" }, { key: "iss" }], value: { stringMatch: { exact: "j" } } },
    }),
    false,
  ],
])("%j matches: %s", (policies, expected) => {
  expect(evaluate("ALLOW", policies as JsonObject).allowed).toBe(expected);
  expect(evaluate("DENY", policies as JsonObject).allowed).toBe(!expected);
});

test("without a certificate nobody is authenticated", () => {
  const policies = from({ authenticated: { principalName: { safeRegex: { regex: ".*" } } } });
  expect(evaluate("ALLOW", policies, { peer: undefined, tls: false }).allowed).toBe(false);
});

test("nothing matches: ALLOW refuses, DENY and LOG let pass", () => {
  expect(["ALLOW", "DENY", "LOG"].map((action) => evaluate(action, {}).allowed)).toEqual([false, true, true]);
});

test("the first by name that matches counts, and the fields that made it match are named", () => {
  const policies = {
    "ns[shop]-policy[b]-rule[0]": { permissions: any, principals: any },
    "ns[shop]-policy[a]-rule[2]": {
      permissions: [
        { destinationPort: 1 },
        {
          andRules: {
            rules: [
              {
                orRules: {
                  rules: [{ urlPath: { path: { exact: "/" } } }, { urlPath: { path: { prefix: "/admin" } } }],
                },
              },
            ],
          },
        },
      ],
      principals: any,
    },
  };
  const { matched } = evaluate("DENY", policies);
  expect(matched).toEqual({ name: "ns[shop]-policy[a]-rule[2]", fields: ["to[1].operation.paths[1]"] });
  expect(policyOrigin(matched?.name ?? "")).toEqual({ object: "AuthorizationPolicy/shop/a", rule: 2 });
});

test("says which condition kept a policy from matching", () => {
  const { lost } = evaluate(
    "ALLOW",
    to({ andRules: { rules: [{ orRules: { rules: [{ destinationPort: 1 }, { destinationPort: 2 }] } }] } }),
  );
  expect(lost).toEqual([{ name: "p", why: "port 1 or port 2 does not hold" }]);
});
