import { describe, expect, test } from "vitest";
import { istioKinds, meshConfigSpec, meshNetworksSpec, type Schema } from "../../model/index.ts";
import { unhonouredNames } from "../unhonoured.ts";
import { type AnalyzeOptions, analyze } from "./analyze.ts";

const now = new Date("2026-01-01T00:00:00Z");
const istio = (kind: string, name: string, spec: Readonly<Record<string, unknown>>, namespace = "shop") => ({
  apiVersion: "networking.istio.io/v1",
  kind,
  metadata: { name, namespace },
  spec,
});
const run = (files: readonly unknown[], options: Partial<AnalyzeOptions> = {}): readonly string[] =>
  analyze({ files }, { now, own: true, ...options })
    .filter(({ code }) => code.startsWith("FLD"))
    .map(({ code, kind, name, path, message }) => `${code} ${kind} ${name} ${path}: ${message}`);

describe("fields that are not honoured", () => {
  test("are told where they are used, wherever the message is used, with why", () => {
    const outlierDetection = { consecutiveErrors: 3, consecutive5xxErrors: 3 };
    const spec = { host: "a", subsets: [{ name: "v1", trafficPolicy: { outlierDetection } }] };
    expect(run([istio("DestinationRule", "d", spec)])).toEqual([
      "FLD0001 DestinationRule d spec.subsets[0].trafficPolicy.outlierDetection.consecutiveErrors: spec.subsets[0].trafficPolicy.outlierDetection.consecutiveErrors is not honoured: Istio does not act on it either.",
    ]);
  });

  test("are not told when they are empty or off, nor without asking for own messages", () => {
    const fault = { delay: { fixedDelay: "1s", exponentialDelay: "" } };
    const route = [{ destination: { host: "a" } }];
    expect(run([istio("VirtualService", "v", { hosts: ["a"], http: [{ fault, route }] })])).toEqual([]);
    const used = istio("DestinationRule", "d", {
      host: "a",
      trafficPolicy: { outlierDetection: { consecutiveErrors: 3 } },
    });
    expect(run([used])).toHaveLength(1);
    expect(run([used], { own: false })).toEqual([]);
  });

  test("single values of a field", () => {
    const patch = { applyTo: "BOOTSTRAP", patch: { operation: "MERGE", value: {} } };
    expect(run([istio("EnvoyFilter", "e", { configPatches: [patch] })])).toEqual([
      "FLD0001 EnvoyFilter e spec.configPatches[0].applyTo: spec.configPatches[0].applyTo=BOOTSTRAP is not honoured: not done yet.",
    ]);
  });

  test("of MeshConfig, but not what installers write down of Istio's defaults", () => {
    const mesh = { enablePrometheusMerge: true, defaultConfig: { meshId: "m" }, certificates: [{ secretName: "s" }] };
    expect(run([], { mesh })).toEqual([
      "FLD0001 MeshConfig meshconfig certificates: certificates is not honoured: Istio does not act on it either.",
      expect.stringContaining("defaultConfig.meshId is not honoured"),
    ]);
    expect(run([], { networks: { networks: { n: { endpoints: [{ fromRegistry: "Kubernetes" }] } } } })).toHaveLength(1);
  });

  test("every entry of the table names a field that exists", () => {
    const all = [...istioKinds.map((kind) => kind.spec), meshConfigSpec, meshNetworksSpec];
    const known = new Set(all.flatMap((schema) => [...fieldsOf(schema)]));
    expect(unhonouredNames.filter((name) => !known.has(name))).toEqual([]);
  });
});

/** `message.field` of every field below a schema. */
function* fieldsOf(schema: Schema): Generator<string> {
  if (schema.type === "array") yield* fieldsOf(schema.items);
  else if (schema.type === "map") yield* fieldsOf(schema.values);
  else if (schema.type === "object")
    for (const [name, child] of Object.entries(schema.fields)) {
      yield `${schema.proto}.${name}`;
      yield* fieldsOf(child);
    }
}

describe("delegates", () => {
  const root = (delegate: Readonly<Record<string, string>>) =>
    istio("VirtualService", "root", { hosts: ["a.com"], http: [{ delegate }] });
  const leaf = (spec: Readonly<Record<string, unknown>>, namespace = "shop") =>
    istio("VirtualService", "leaf", { http: [{ route: [{ destination: { host: "a" } }] }], ...spec }, namespace);

  test.each([
    ["does not exist", [root({ name: "leaf" })], "which does not exist"],
    [
      "has hosts",
      [root({ name: "leaf" }), leaf({ hosts: ["b.com"] })],
      "which has hosts of its own and so is no delegate",
    ],
    [
      "is kept to its namespace",
      [root({ name: "leaf", namespace: "other" }), leaf({ exportTo: ["."] }, "other")],
      "which is not exported to namespace shop",
    ],
  ])("one that %s is told at the route", (_case, files, why) => {
    const [told = "", ...more] = run(files);
    expect(told).toContain("FLD0002 VirtualService root spec.http[0].delegate: The route delegates to VirtualService/");
    expect(told).toContain(why);
    expect(more).toEqual([]);
  });

  test("a good one is not", () => {
    expect(run([root({ name: "leaf" }), leaf({})])).toEqual([]);
    expect(run([root({ name: "leaf", namespace: "other" }), leaf({ exportTo: ["shop"] }, "other")])).toEqual([]);
  });
});

describe("R19: policies by who is calling, where callers need not say", () => {
  const security = (kind: string, name: string, spec: Readonly<Record<string, unknown>>, namespace = "shop") => ({
    ...istio(kind, name, spec, namespace),
    apiVersion: "security.istio.io/v1",
  });
  const peers = (mode: string, namespace = "shop", more: Readonly<Record<string, unknown>> = {}) =>
    security("PeerAuthentication", `p-${mode}`, { mtls: { mode }, ...more }, namespace);
  const policy = (rule: Readonly<Record<string, unknown>>, action = "ALLOW", more = {}) =>
    security("AuthorizationPolicy", "a", { action, rules: [rule], ...more });
  const from = (...sources: readonly object[]) => ({ from: sources.map((source) => ({ source })) });
  const paths = (...files: readonly unknown[]): readonly string[] =>
    run(files).map((line) => line.replace(/:.*/, "").replace("FLD0005 AuthorizationPolicy a spec.rules[0].", ""));
  const open = policy(from({ notNamespaces: ["test"] }));

  test("what ALLOW excludes and what DENY names is told, with what to do", () => {
    expect(run([open])).toEqual([
      'FLD0005 AuthorizationPolicy a spec.rules[0].from[0].source.notNamespaces: A client without mutual TLS has no identity and is let in by spec.rules[0].from[0].source.notNamespaces. Set PeerAuthentication to STRICT, or also ask for principals: ["*"].',
    ]);
    expect(paths(policy(from({ notPrincipals: ["*/sa/a"] })))).toEqual(["from[0].source.notPrincipals"]);
    expect(paths(policy(from({ principals: ["*/sa/a"] }), "DENY"))).toEqual(["from[0].source.principals"]);
    const when = [{ key: "source.namespace", notValues: ["test"] }];
    expect(paths(policy({ when }))).toEqual(["when[0].notValues"]);
  });

  test("what an identity is needed for anyway is not", () => {
    expect(paths(policy(from({ notNamespaces: ["test"], principals: ["*"] })))).toEqual([]);
    const when = [{ key: "source.principal", values: ["*"] }];
    expect(paths(policy({ ...from({ notNamespaces: ["test"] }), when }))).toEqual([]);
    expect(paths(policy(from({ namespaces: ["test"] })))).toEqual([]);
    expect(paths(policy(from({ notNamespaces: ["test"] }), "DENY"))).toEqual([]);
    const both = { rules: [from({ namespaces: ["test"] }), from({ notPrincipals: ["*"] })] };
    expect(paths(policy({}, "DENY", both))).toEqual([]);
    // One source that asks does not close the other.
    expect(paths(policy(from({ principals: ["*"] }, { notNamespaces: ["test"] })))).toEqual([
      "from[1].source.notNamespaces",
    ]);
  });

  test.each([
    ["nothing", [], true],
    ["STRICT in the namespace", [peers("STRICT")], false],
    ["STRICT in the mesh", [peers("STRICT", "istio-system")], false],
    ["STRICT elsewhere", [peers("STRICT", "other")], true],
    ["STRICT in the mesh, not in the namespace", [peers("STRICT", "istio-system"), peers("PERMISSIVE")], true],
    ["UNSET in the namespace of a STRICT mesh", [peers("STRICT", "istio-system"), peers("UNSET")], false],
    [
      "STRICT, but for some workload",
      [peers("STRICT"), peers("DISABLE", "shop", { selector: { matchLabels: { app: "a" } } })],
      true,
    ],
    [
      "STRICT, but for a port of some workload",
      [
        peers("STRICT"),
        peers("UNSET", "shop", {
          selector: { matchLabels: { app: "a" } },
          portLevelMtls: { 80: { mode: "PERMISSIVE" } },
        }),
      ],
      true,
    ],
  ])("%s said of mutual TLS", (_what, files, told) => {
    expect(paths(open, ...files)).toHaveLength(told ? 1 : 0);
  });

  test("selectors: STRICT for these workloads is enough, and other workloads do not count", () => {
    const chosen = policy(from({ notNamespaces: ["test"] }), "ALLOW", { selector: { matchLabels: { app: "a" } } });
    const strict = (app: string) => peers("STRICT", "shop", { selector: { matchLabels: { app } } });
    expect(paths(chosen, strict("a"))).toEqual([]);
    expect(paths(chosen, strict("b"))).toHaveLength(1);
    expect(
      paths(chosen, peers("STRICT"), peers("DISABLE", "shop", { selector: { matchLabels: { app: "b" } } })),
    ).toEqual([]);
  });
});

describe("routes for other namespaces", () => {
  const service = {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "bank", namespace: "money" },
    spec: { ports: [{ port: 80 }] },
  };
  const route = (more: object, namespace = "shop") =>
    istio(
      "VirtualService",
      "v",
      { hosts: ["bank.money.svc.cluster.local"], http: [{ route: [{ destination: { host: "mine" } }] }], ...more },
      namespace,
    );
  const told = (more: object, namespace?: string): readonly string[] =>
    analyze({ files: [route(more, namespace)], cluster: [service] }, { now, own: true })
      .filter(({ code }) => code === "FLD0007")
      .map(({ name, path }) => `${name} ${path}`);

  test("R41: a host of another namespace that is routed for everybody is told", () => {
    expect(told({})).toEqual(["v spec.hosts[0]"]);
    expect(told({ exportTo: ["money"] })).toHaveLength(1);
    expect(told({ exportTo: ["."] })).toEqual([]);
    expect(told({ gateways: ["edge"] })).toEqual([]);
    expect(told({}, "money")).toEqual([]);
    expect(told({}, "istio-system")).toEqual([]);
  });
});
