import { describe, expect, test } from "vitest";
import type { Cause } from "../collections/index.ts";
import { types } from "../model/index.ts";
import type { ProxyStatus } from "../xds/index.ts";
import { findRefusals, type Maker, refusalsByObject, sharedCauses } from "./refusals.ts";

/** What comes of it, and in how many pieces. */
function allOf<T>(steps: Generator<undefined, T>): { readonly value: T; readonly pieces: number } {
  for (let pieces = 0; ; pieces++) {
    const { done, value } = steps.next();
    if (done) return { value, pieces };
  }
}

const found = (...args: Parameters<typeof findRefusals>) => allOf(findRefusals(...args)).value;

function proxy(name: string, lastError: string, refused: readonly string[], doubted: readonly string[] = []) {
  const type = { type: types.listener, lastError, refused: new Map(refused.map((one) => [one, lastError])), doubted };
  return { node: { id: `sidecar~10.0.0.1~${name}.default~x` }, types: [type] } as unknown as ProxyStatus;
}

const service = { object: "Service/default/web" };
const rule = { object: "DestinationRule/default/web" };
const route = { object: "VirtualService/default/web" };
const patch = { object: "EnvoyFilter/default/lua", field: "spec.configPatches[0]" };

const told = (proxies: readonly ProxyStatus[], causes: readonly Cause[]) =>
  Object.fromEntries(allOf(refusalsByObject(found(proxies, () => causes))).value);

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
    const [refusal] = found([proxy("a", "x".repeat(10_000), ["l"])], () => [patch]);
    expect(refusal?.words).toHaveLength(400);
  });
});

test("of a proxy that refuses whole sets without a name not all of thousands is looked at", () => {
  let asked = 0;
  const names = Array.from({ length: 5000 }, (_, i) => `l${i}`);
  const { value, pieces } = allOf(
    findRefusals([proxy("a", "no", names)], () => {
      asked++;
      return [patch];
    }),
  );
  expect([asked, value.length]).toEqual([500, 500]);
  // One look-up in each, so that others have their turn between them.
  expect(pieces).toBe(500);
  expect(allOf(refusalsByObject(value)).pieces).toBe(500);
});

test("what made a resource is looked up once for all proxies and classes that have it", () => {
  const asked: string[] = [];
  const shared = { a: {}, b: {} };
  const maker = (name: string, resources: Readonly<Record<string, object>>, sidecar = ""): Maker => ({
    proxy: { sidecar },
    get: (_type, resource) => resources[resource],
    causes(_type, resource): readonly Cause[] {
      asked.push(`${name} ${resource}`);
      return [route];
    },
  });
  const one = maker("one", shared);
  const others: Readonly<Record<string, Maker | undefined>> = {
    6: maker("same", shared),
    7: maker("other", { ...shared, b: {} }),
    8: undefined,
    9: maker("with a Sidecar", shared, "default/mine"),
  };
  const all = Array.from({ length: 100 }, (_, i) => proxy(`${i}`, "no", ["a", "b"]));
  const refusals = found(
    all,
    sharedCauses(({ id }) => {
      const name = id.split("~")[2]?.split(".")[0] ?? "";
      return name in others ? others[name] : one;
    }),
  );
  expect(asked).toEqual(["one a", "one b", "other b", "with a Sidecar a", "with a Sidecar b"]);
  expect(refusals.filter(({ blamed }) => blamed.length > 0)).toHaveLength(198);
});
