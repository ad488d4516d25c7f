import { describe, expect, test } from "vitest";
import type { Cause } from "../collections/index.ts";
import { types } from "../model/index.ts";
import type { ProxyStatus } from "../xds/index.ts";
import { findRefusals, refusalsByObject, sharedCauses } from "./refusals.ts";

function proxy(name: string, lastError: string, refused: readonly string[], doubted: readonly string[] = []) {
  const type = { type: types.listener, lastError, refused: new Map(refused.map((one) => [one, lastError])), doubted };
  return { node: { id: `sidecar~10.0.0.1~${name}.default~x` }, types: [type] } as unknown as ProxyStatus;
}

const service = { object: "Service/default/web" };
const rule = { object: "DestinationRule/default/web" };
const route = { object: "VirtualService/default/web" };
const patch = { object: "EnvoyFilter/default/lua", field: "spec.configPatches[0]" };

const told = (proxies: readonly ProxyStatus[], causes: readonly Cause[]) =>
  Object.fromEntries(refusalsByObject(findRefusals(proxies, () => causes)));

describe("what a proxy refuses", () => {
  test("is the patch's that is in it, with the patch's place", () => {
    expect(told([proxy("a", "script\nload error", ["0.0.0.0_80"])], [service, rule, patch])).toEqual({
      "EnvoyFilter/default/lua": [
        {
          path: "spec.configPatches[0]",
          message: "The Envoy of a.default refused LDS 0.0.0.0_80, which this made: script\\u000aload error",
          isSure: true,
        },
      ],
    });
  });

  test("is said once for many proxies", () => {
    const all = ["c", "a", "b"].map((name) => proxy(name, "no", ["l"]));
    expect(told(all, [patch])).toMatchObject({
      "EnvoyFilter/default/lua": [{ message: expect.stringContaining("The Envoy of a.default and 2 more refused") }],
    });
  });

  test("is, without a patch, what users wrote, and sure only where that is one object", () => {
    const refused = [proxy("a", "no", ["l"])];
    expect(Object.keys(told(refused, [service, rule]))).toEqual([rule.object]);
    expect(told(refused, [service, rule])).toMatchObject({ [rule.object]: [{ isSure: true }] });
    expect(told(refused, [rule, route])).toMatchObject({
      [rule.object]: [{ isSure: false }],
      [route.object]: [{ isSure: false }],
    });
  });

  test("may be anything of the response where the proxy names nothing", () => {
    expect(told([proxy("a", "no", [], ["one", "two"])], [patch])).toMatchObject({
      [patch.object]: [{ message: expect.stringContaining("LDS one") }],
    });
  });

  test("is nothing once it has accepted, and long words are cut", () => {
    expect(told([proxy("a", "", [], [])], [patch])).toEqual({});
    const [refusal] = findRefusals([proxy("a", "x".repeat(10_000), ["l"])], () => [patch]);
    expect(refusal?.words).toHaveLength(400);
  });
});

test("of a proxy that refuses whole sets without a name not all of thousands is looked at", () => {
  let asked = 0;
  const names = Array.from({ length: 5000 }, (_, i) => `l${i}`);
  const found = findRefusals([proxy("a", "no", names)], () => {
    asked++;
    return [patch];
  });
  expect([asked, found.length]).toEqual([500, 500]);
});

test("what made a resource that many proxies of a class refuse is looked up once", () => {
  const asked: string[] = [];
  const maker = (name: string) => ({
    causes(_type: unknown, resource: string): readonly Cause[] {
      asked.push(`${name} ${resource}`);
      return [route];
    },
  });
  const [one, other] = [maker("one"), maker("other")];
  const all = Array.from({ length: 100 }, (_, i) => proxy(`${i}`, "no", ["a", "b"]));
  const found = findRefusals(
    all,
    sharedCauses(({ id }) => (id.includes("~7.") ? other : id.includes("~8.") ? undefined : one)),
  );
  expect(asked).toEqual(["one a", "one b", "other a", "other b"]);
  expect(found.filter(({ blamed }) => blamed.length > 0)).toHaveLength(198);
});
