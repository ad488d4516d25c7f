import { describe, expect, test } from "vitest";
import { destinationRule, peerAuthentication, virtualService } from "../model/index.ts";
import { decode, decodeMeshConfig } from "./index.ts";

const object = (spec: unknown) => ({ metadata: { name: "a", namespace: "n" }, spec });

describe("decode reads what istiod reads", () => {
  test("snake_case and camelCase are the same field; numbers may be text; null is absent", () => {
    const { ok, problems } = decode(
      virtualService,
      object({
        hosts: ["a"],
        http: [{ direct_response: { status: "503" }, timeout: null, mirror_percent: 3, route: [{ weight: "10" }] }],
      }),
    );
    expect(problems).toEqual([]);
    expect(ok?.spec).toEqual({
      hosts: ["a"],
      http: [{ directResponse: { status: 503 }, mirrorPercent: 3, route: [{ weight: 10 }] }],
    });
  });

  test("a spec is decoded once for each kind that it is read as", () => {
    const raw = object({ host: "a", hosts: ["a"] });
    const { ok, problems } = decode(virtualService, raw);
    const again = decode(virtualService, { ...raw, status: {} });
    expect(again.ok?.spec).toBe(ok?.spec);
    expect(again.problems).toEqual(problems);
    expect(decode(destinationRule, raw).ok?.spec).toEqual({ host: "a" });
  });

  test("an enum may be given by its number", () => {
    const { ok } = decode(destinationRule, object({ trafficPolicy: { loadBalancer: { simple: 2 } } }));
    expect(ok?.spec.trafficPolicy?.loadBalancer?.simple).toBe("RANDOM");
  });

  test("an unknown field is left out and told, and the rest stands", () => {
    const { ok, problems } = decode(virtualService, object({ hosts: ["a"], htp: [] }));
    expect(ok?.spec).toEqual({ hosts: ["a"] });
    expect(problems).toMatchObject([
      {
        object: "VirtualService/n/a",
        path: "spec.htp",
        message: 'unknown field "htp" in istio.networking.v1alpha3.VirtualService',
      },
    ]);
  });

  test.each([
    [{ hosts: "a" }, "spec.hosts", "json: cannot unmarshal string into Go value of type []json.RawMessage"],
    [{ http: [{ timeout: "soon" }] }, "spec.http[0].timeout", 'bad Duration: time: invalid duration "soon"'],
    [{ http: [{ timeout: "5" }] }, "spec.http[0].timeout", 'bad Duration: time: missing unit in duration "5"'],
    [
      { http: [{ match: [{ port: -1 }] }] },
      "spec.http[0].match[0].port",
      "json: cannot unmarshal number -1 into Go value of type uint32",
    ],
    [{ http: [1] }, "spec.http[0]", "json: cannot unmarshal number into Go value of type map[string]json.RawMessage"],
  ])("what cannot be decoded is an error with its field: %j", (spec, path, message) => {
    const { ok, problems } = decode(virtualService, object(spec));
    expect(ok).toBeUndefined();
    expect(problems).toMatchObject([{ path, message }]);
  });

  test("an unknown field before the fault is told before it, as a strict reader would stop there", () => {
    const { ok, problems } = decode(virtualService, object({ http: [{ nme: "x" }], exportTo: 5 }));
    expect(ok).toBeUndefined();
    expect(problems.map(({ path }) => path)).toEqual(["spec.http[0].nme", "spec.exportTo"]);
  });

  test("map keys are numbers where protobuf has them so; unknown enum names are refused", () => {
    expect(decode(peerAuthentication, object({ portLevelMtls: { x: {} } })).problems).toMatchObject([
      { path: "spec.portLevelMtls[x]", message: "invalid character 'x' looking for beginning of value" },
    ]);
    expect(decode(peerAuthentication, object({ mtls: { mode: "MAYBE" } })).ok).toBeUndefined();
  });

  test("names such as __proto__ stay data", () => {
    const raw = JSON.parse(
      '{"metadata":{"name":"a"},"spec":{"__proto__":{"x":1},"subsets":[{"labels":{"__proto__":"y"}}]}}',
    );
    const { ok } = decode(destinationRule, raw);
    expect(Object.keys(ok?.spec.subsets?.[0]?.labels ?? {})).toEqual(["__proto__"]);
    expect(({} as { x?: number }).x).toBeUndefined();
  });
});

test("MeshConfig is YAML in protobuf JSON", () => {
  const { ok, problems } = decodeMeshConfig(
    "rootNamespace: r\ndefaultConfig:\n  discovery_address: d:15012\nnope: 1\n",
  );
  expect(ok).toEqual({ rootNamespace: "r", defaultConfig: { discoveryAddress: "d:15012" } });
  expect(problems.map((problem) => problem.path)).toEqual(["nope"]);
  expect(decodeMeshConfig("accessLogFile: [").ok).toBeUndefined();
  expect(decodeMeshConfig("").ok).toEqual({});
  const providers = (count: number): string =>
    `extensionProviders:\n${Array.from({ length: count }, (_, i) => `- {name: p${i}, envoyExtAuthzGrpc: {service: a${i}.b, port: 80}}\n`).join("")}`;
  expect(decodeMeshConfig(providers(1_000)).ok?.extensionProviders).toHaveLength(1_000);
  expect(decodeMeshConfig(providers(6_000)).problems[0]?.message).toMatch(/characters; at most 262144 are accepted$/);
});
