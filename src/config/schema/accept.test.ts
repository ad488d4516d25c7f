import { beforeAll, describe, expect, test } from "vitest";
import {
  backendTlsPolicy,
  httpRoute,
  type Kind,
  kinds,
  peerAuthentication,
  type Rule,
  type Schema,
  serviceEntry,
  virtualService,
} from "../../model/index.ts";
import { acceptInSteps, acceptObject, type CelRules, formatIssue, loadCel } from "../index.ts";

let cel: CelRules;
beforeAll(async () => {
  cel = await loadCel();
});

const object = (spec: unknown) => ({ apiVersion: "v", kind: "K", metadata: { name: "a" }, spec });

const judge = (kind: Kind, spec: unknown, old?: unknown) => {
  const accepted = acceptObject(kind, object(spec), old === undefined ? { cel } : { cel, old: object(old) });
  return { ...accepted, texts: accepted.issues.map(formatIssue) };
};

describe("what an API server does with an object", () => {
  test("unknown fields are dropped and named, also below lists and maps", () => {
    const { object: stored, unknownFields } = judge(virtualService, {
      hosts: ["a"],
      http: [{ nme: "x", match: [{ headers: { h: { exct: "v" } } }] }],
    });
    expect(unknownFields).toEqual(["spec.http[0].nme", "spec.http[0].match[0].headers.h.exct"]);
    expect(stored.spec).toEqual({ hosts: ["a"], http: [{ match: [{ headers: { h: {} } }] }] });
  });

  test("defaults are filled in before anything is checked", () => {
    const { object: stored, texts } = judge(httpRoute, {
      parentRefs: [{ name: "g" }],
      rules: [{ backendRefs: [{ name: "s", port: 80 }] }],
    });
    expect(texts).toEqual([]);
    expect(stored.spec).toMatchObject({
      parentRefs: [{ group: "gateway.networking.k8s.io", kind: "Gateway", name: "g" }],
      rules: [
        { matches: [{ path: { type: "PathPrefix", value: "/" } }], backendRefs: [{ kind: "Service", weight: 1 }] },
      ],
    });
  });

  test("what needs no change is not made anew, and what does leaves the rest and the given object alone", () => {
    const [good, odd] = [{ uri: { prefix: "/a" } }, { uri: { prefix: "/b" }, nme: "x" }];
    const spec = { hosts: ["a"], http: [{ match: [good, odd] }] };
    const { object: stored } = judge(virtualService, spec);
    expect(stored.spec).toEqual({ hosts: ["a"], http: [{ match: [good, { uri: { prefix: "/b" } }] }] });
    expect((stored.spec as typeof spec).http[0]?.match[0]).toBe(good);
    expect(judge(virtualService, stored.spec).object.spec).toBe(stored.spec);
    expect(odd).toHaveProperty("nme");
  });

  test("a null where none is allowed counts as absent; a wrapper's null stays", () => {
    const { object: stored, texts } = judge(virtualService, {
      hosts: null,
      http: [{ timeout: null, mirrorPercent: null }],
    });
    expect(texts).toEqual([]);
    expect(stored.spec).toEqual({ http: [{ mirrorPercent: null }] });
  });

  test.each([
    [
      virtualService,
      { http: 1 },
      'spec.http: Invalid value: "integer": spec.http in body must be of type array: "integer"',
    ],
    [
      peerAuthentication,
      { mtls: { mode: "X" } },
      'spec.mtls.mode: Unsupported value: "X": supported values: "UNSET", "DISABLE", "PERMISSIVE", "STRICT"',
    ],
    [serviceEntry, { hosts: [] }, "spec.hosts: Invalid value: 0: spec.hosts in body should have at least 1 items"],
    [serviceEntry, {}, "spec.hosts: Required value"],
    [
      serviceEntry,
      {
        hosts: ["a.com"],
        ports: [
          { number: 1, name: "a" },
          { number: 2, name: "a" },
        ],
      },
      'spec.ports[1]: Duplicate value: {"name":"a"}',
    ],
    [
      serviceEntry,
      { hosts: ["a.com"], ports: [{ number: 70000, name: "a" }] },
      "spec.ports[0].number: Invalid value: 70000: port must be between 1-65535",
    ],
  ])("%o", (kind, spec, text) => {
    expect(judge(kind, spec).texts).toContain(text);
  });

  test("CEL is not run on what has the wrong shape", () => {
    const { texts } = judge(serviceEntry, { hosts: 3, ports: [{ number: 70000, name: "a" }] });
    expect(texts.at(-1)).toMatch(/some validation rules were not checked/);
    expect(texts.join()).not.toMatch(/between 1-65535/);
  });

  test("fields named like CEL's own words are reached by their escaped name", () => {
    const parents = [
      { name: "g", namespace: "a" },
      { name: "g", namespace: "a" },
    ];
    expect(judge(httpRoute, { parentRefs: parents }).texts.join()).toMatch(/sectionName or port must be unique/);
    expect(
      judge(httpRoute, {
        parentRefs: [
          { name: "g", namespace: "a" },
          { name: "g", namespace: "b" },
        ],
      }).texts,
    ).toEqual([]);
  });

  test("rules on a transition need the object before", () => {
    const gatewayClass = kinds.find((kind) => kind.kind === "GatewayClass");
    if (!gatewayClass) throw new Error("no GatewayClass");
    expect(judge(gatewayClass, { controllerName: "a.io/b" }).texts).toEqual([]);
    expect(judge(gatewayClass, { controllerName: "a.io/b" }, { controllerName: "a.io/b" }).texts).toEqual([]);
    expect(judge(gatewayClass, { controllerName: "a.io/c" }, { controllerName: "a.io/b" }).texts).toEqual([
      'spec.controllerName: Invalid value: "a.io/c": Value is immutable',
    ]);
  });

  test("lengths count characters, patterns are RE2", () => {
    const spec = {
      targetRefs: [{ group: "", kind: "Service", name: "s" }],
      validation: { hostname: "a.com", wellKnownCACertificates: "System" },
    };
    expect(judge(backendTlsPolicy, spec).texts).toEqual([]);
    expect(
      judge(backendTlsPolicy, { ...spec, validation: { ...spec.validation, hostname: "A_b" } }).texts.join(),
    ).toMatch(/should match/);
  });
});

test("a large object is checked in many steps", () => {
  const pauses = (kind: Kind, spec: unknown): number => {
    const steps = acceptInSteps(kind, object(spec), { cel });
    let count = 0;
    while (!steps.next().done) count++;
    return count;
  };
  const match = Array.from({ length: 10_000 }, (_, i) => ({ uri: { prefix: `/${i}` } }));
  expect(pauses(virtualService, { hosts: ["a"], http: [{ match }] })).toBeGreaterThan(5);
  const headers = Array.from({ length: 16 }, (_, i) => ({ name: `h${i}`, value: "v" }));
  const rules = Array.from({ length: 16 }, () => ({ matches: Array.from({ length: 8 }, () => ({ headers })) }));
  expect(pauses(httpRoute, { rules })).toBeGreaterThan(100);
});

test("every rule of every kind is CEL that compiles", () => {
  const rules = kinds.flatMap((kind) => [...rulesOf(kind.spec), ...(kind.status ? rulesOf(kind.status) : [])]);
  expect(rules.length).toBeGreaterThan(130);
  expect(rules.filter(({ rule }) => cel.syntaxError(rule) !== undefined)).toEqual([]);
});

function rulesOf(schema: Schema): readonly Rule[] {
  const below =
    schema.type === "object"
      ? Object.values(schema.fields)
      : schema.type === "array"
        ? [schema.items]
        : schema.type === "map"
          ? [schema.values]
          : [];
  return [...(schema.rules ?? []), ...below.flatMap(rulesOf)];
}
