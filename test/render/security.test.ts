/** What policies become, objects in to JSON out: bad input contained, keys that come and go, no private key anywhere. */
import { spawnSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { createGraph, type Source } from "../../src/collections/index.ts";
import { createOffline } from "../../src/control-plane/index.ts";
import { createStages } from "../../src/control-plane/stages.ts";
import { watchObjects } from "../../src/control-plane/watched-kinds.ts";
import { createMemorySource } from "../../src/kube/index.ts";
import { bytesOf, type KubeObject, types } from "../../src/model/index.ts";
import { createJsonPrinter, createRenderer, shownResource } from "../../src/render/index.ts";
import { findEnvoy, lacks } from "../require.ts";
import { pod, service, slice } from "./objects.ts";
import { type Json, type RenderInput, renderProxy } from "./offline.ts";
import { createStaticSecrets } from "./static-secrets.ts";

type Spec = Readonly<Record<string, unknown>>;

const security = (
  kind: string,
  name: string,
  spec: Spec,
  annotations?: Readonly<Record<string, string>>,
): KubeObject => ({
  apiVersion: "security.istio.io/v1",
  kind,
  metadata: { name, namespace: "default", ...(annotations ? { annotations } : {}) },
  spec,
});
const policy = (name: string, spec: Spec): KubeObject => security("AuthorizationPolicy", name, spec);
const tokens = (...jwtRules: readonly Spec[]): KubeObject => security("RequestAuthentication", "tokens", { jwtRules });

const workload = (portName = "http"): readonly KubeObject[] => [
  pod("web", { proxy: "sidecar" }),
  service("web", { portName }),
  slice("web", [{ address: "10.0.0.1", pod: "web" }], 8080, portName),
  service("gate", { port: 9000 }),
];

const inbound = async (objects: readonly KubeObject[], rest: Partial<RenderInput> = {}): Promise<Json> =>
  (await renderProxy({ ...rest, objects })).listeners.get("virtualInbound");

const chain = (listener: Json): Json =>
  listener.filterChains.find(({ filterChainMatch }: Json) => filterChainMatch.destinationPort === 8080);

const httpFilters = (listener: Json): readonly Json[] => chain(listener).filters.at(-1).typedConfig.httpFilters;

const rulesOf = (filters: readonly Json[]): Json =>
  filters.find(({ name }) => name.endsWith(".rbac"))?.typedConfig.rules.policies ?? {};

const jwksOf = (listener: Json): readonly string[] =>
  Object.values(httpFilters(listener).find(({ name }) => name.endsWith("jwt_authn")).typedConfig.providers).map(
    (provider) => (provider as Json).localJwks.inlineString,
  );

/** Each is something that Envoy would refuse the whole listener for, or end itself over. */
const unenforceable: readonly [string, Spec][] = [
  ["a template that is none", { to: [{ operation: { paths: ["/{**}/{*}"] } }] }],
  ["a range that is none", { from: [{ source: { ipBlocks: ["10.0.0.0/99"] } }] }],
  ["a port that is none", { to: [{ operation: { ports: ["70000"] } }] }],
  ["a header without a name", { when: [{ key: "request.headers[]", values: ["a"] }] }],
  ["a claim without a name", { when: [{ key: "request.auth.claims[]", values: ["a"] }] }],
  ["metadata without a key", { when: [{ key: "experimental.envoy.filters.x[]", values: ["a"] }] }],
  ["a principal longer than any", { from: [{ source: { principals: [`*${"x".repeat(40_000)}`] } }] }],
];

describe("a condition that cannot be enforced", () => {
  const name = "ns[default]-policy[p]-rule[0]";
  const method = { to: [{ operation: { methods: ["GET"] } }] };

  test.each(unenforceable)("%s: ALLOW does not match", async (_what, rule) => {
    const filters = httpFilters(await inbound([...workload(), policy("p", { rules: [rule, method] })]));
    expect(Object.keys(rulesOf(filters))).toEqual(["ns[default]-policy[p]-rule[1]"]);
  });

  test.each(unenforceable)("%s: DENY refuses without asking for it", async (_what, rule) => {
    const spec = { action: "DENY", rules: [{ ...method, ...rule }] };
    const rules = rulesOf(httpFilters(await inbound([...workload(), policy("p", spec)])));
    const { permissions, principals } = rules[name];
    const kept = [...permissions[0].andRules.rules, ...principals[0].andIds.ids];
    expect(kept.some((part: Json) => part.any === true)).toBe(true);
    expect(JSON.stringify(kept)).not.toMatch(/xxxxx|uriTemplate|directRemoteIp|destinationPort|"key":""/);
  });

  test("is told, with the object and the field", async () => {
    const told: unknown[] = [];
    const rules = [...unenforceable.map(([, rule]) => rule), { when: [{ key: "source.mood", values: ["good"] }] }];
    const custom = { action: "CUSTOM", provider: { name: "none" }, rules: [{}] };
    const objects = [...workload(), policy("p", { rules }), policy("c", custom), tokens({ issuer: "i", jwks: "{}" })];
    const offline = createOffline({ objects });
    const [proxy] = offline.proxies();
    if (!proxy) throw new Error("no proxy");
    createRenderer(offline.mesh, offline.classOf(proxy), {
      onProblem: ({ object, field }) => told.push(`${object} ${field}`),
    }).all(types.listener);
    const expected = rules.map((_, index) => `AuthorizationPolicy/default/p spec.rules[${index}]`);
    expect(new Set(told)).toEqual(
      new Set([
        ...expected,
        "AuthorizationPolicy/default/c spec.provider",
        "RequestAuthentication/default/tokens spec.jwtRules[0]",
      ]),
    );
  });

  test("among good values takes only itself along", async () => {
    const spec = { action: "DENY", rules: [{ from: [{ source: { ipBlocks: ["nonsense", "10.0.0.1"] } }] }] };
    const rules = rulesOf(httpFilters(await inbound([...workload(), policy("p", spec)])));
    expect(rules[name].principals[0].andIds.ids[0].orIds.ids).toEqual([
      { directRemoteIp: { addressPrefix: "10.0.0.1", prefixLen: 32 } },
    ]);
  });
});

describe("an external provider that cannot be asked", () => {
  const custom = policy("p", { action: "CUSTOM", provider: { name: "gate" }, rules: [{}] });
  const http = { service: "gate.default.svc.cluster.local", port: 9000 };
  test.each<[string, Spec | undefined]>([
    ["is not there", undefined],
    ["has no such service", { envoyExtAuthzHttp: { ...http, service: "nobody.default.svc.cluster.local" } }],
    ["has a port out of range", { envoyExtAuthzGrpc: { ...http, port: 70000 } }],
    ["has a status that is none", { envoyExtAuthzHttp: { ...http, statusOnError: "0" } }],
    ["has a path that is none", { envoyExtAuthzHttp: { ...http, pathPrefix: "check" } }],
    ["takes a body of no bytes", { envoyExtAuthzHttp: { ...http, includeRequestBodyInCheck: {} } }],
  ])("because it %s: what it should judge is refused", async (_why, provider) => {
    const mesh = { extensionProviders: provider ? [{ name: "gate", ...provider }] : [] };
    for (const portName of ["http", "tcp"]) {
      const listener = await inbound([...workload(portName), custom], { mesh });
      const filters = portName === "http" ? httpFilters(listener) : chain(listener).filters;
      expect(filters.some(({ name }: Json) => name.endsWith("ext_authz"))).toBe(false);
      expect(Object.keys(rulesOf(filters))).toEqual([
        "istio-ext-authz-gate-ns[default]-policy[p]-rule[0]-deny-due-to-bad-CUSTOM-action",
      ]);
    }
  });
});

const makeKey = (kid: string) => {
  const pair = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return {
    open: JSON.stringify({ keys: [{ kid, ...pair.publicKey.export({ format: "jwk" }) }] }),
    secret: JSON.stringify({ keys: [{ kid, ...pair.privateKey.export({ format: "jwk" }) }] }),
  };
};

describe("keys of tokens", () => {
  const [a, b] = [makeKey("a"), makeKey("b")];

  test("those in the rule are passed on as written", async () => {
    expect(jwksOf(await inbound([...workload(), tokens({ issuer: "i", jwks: a.open })]))).toEqual([a.open]);
  });

  test.each(["nonsense", '{"keys":[]}', '{"keys":[{"kty":"RSA"}]}'])("%s: no token is accepted", async (jwks) => {
    expect(jwksOf(await inbound([...workload(), tokens({ issuer: "i", jwks })]))).toEqual([""]);
  });

  test("R37: private parts are in no resource", async () => {
    const { listeners } = await renderProxy({ objects: [...workload(), tokens({ issuer: "i", jwks: a.secret })] });
    const text = JSON.stringify([...listeners.values()]);
    for (const member of ["d", "p", "q", "dp", "dq", "qi"]) expect(text).not.toContain(`\\"${member}\\":`);
    expect(text).toContain(JSON.parse(a.open).keys[0].n);
  });

  test("those fetched come and go with the collection, and without them no token is accepted", async () => {
    const graph = createGraph();
    const fetched: Source<string> = graph.source("key sets");
    const objects = [...workload(), tokens({ issuer: "i", jwksUri: "https://keys" }, { issuer: "https://issuer" })];
    const source = createMemorySource({ graph, objects });
    const stages = createStages({
      graph,
      objects: watchObjects(source).objects,
      domain: "cluster.local",
      cluster: "Kubernetes",
      configMap: "istio-system/istio",
      fetchKeySets: () => fetched,
    });
    const [proxy] = stages.podProxies();
    if (!proxy) throw new Error("no proxy");
    const renderer = createRenderer(stages.mesh, stages.classOf(proxy));
    const print = createJsonPrinter();
    const seen = (): readonly string[] => {
      renderer.refresh();
      const resource = renderer.get(types.listener, "virtualInbound");
      return jwksOf(print(types.listener, bytesOf(resource ?? { pieces: [] })));
    };
    expect(seen()).toEqual(["", ""]);
    fetched.set("https://keys", a.open);
    expect(seen()).toEqual(["", a.open]);
    fetched.set("issuer https://issuer", b.open);
    expect(seen()).toEqual([b.open, a.open]);
    fetched.delete("https://keys");
    expect(seen()).toEqual([b.open, ""]);
    const before = renderer.rendered;
    fetched.set("https://unrelated", a.open);
    renderer.refresh();
    expect(renderer.rendered).toBe(before);
  });
});

test("hundreds of issuers are each a provider, in their order", async () => {
  const issuers = Array.from({ length: 300 }, (_, i) => `issuer-${String(i).padStart(3, "0")}`);
  const jwks = makeKey("k").open;
  const listener = await inbound([...workload(), tokens(...issuers.toReversed().map((issuer) => ({ issuer, jwks })))]);
  const { providers, rules } = httpFilters(listener).find(({ name }) => name.endsWith("jwt_authn")).typedConfig;
  expect(Object.entries(providers).map(([name, provider]) => [name, (provider as Json).issuer])).toEqual(
    issuers.map((issuer, i) => [`origins-${i}`, issuer]),
  );
  expect(rules[0].requires.requiresAny.requirements).toHaveLength(301);
});

test("every part knows the policy that made it", async () => {
  const rendered = await renderProxy({
    objects: [...workload(), policy("p", { rules: [{}] }), tokens({ issuer: "i", jwks: makeKey("k").open })],
  });
  const causes = rendered.causes(types.listener, "virtualInbound");
  expect(causes).toContain("AuthorizationPolicy/default/p#spec.rules");
  expect(causes).toContain("RequestAuthentication/default/tokens#spec.jwtRules");
});

describe.skipIf(lacks("envoy"))("a stock Envoy", () => {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-security-"));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  test.each(["http", "tcp", "any"])("takes a listener for %s with everything bad in it", async (portName) => {
    const rules = unenforceable.map(([, rule]) => rule);
    const objects = [
      ...workload(portName),
      policy("allow", { rules }),
      policy("deny", { action: "DENY", rules }),
      policy("audit", { action: "AUDIT", rules }),
      policy("custom", { action: "CUSTOM", provider: { name: "gate" }, rules }),
      security("AuthorizationPolicy", "tried", { action: "DENY", rules }, { "istio.io/dry-run": "true" }),
      tokens(
        {
          issuer: "i",
          jwks: "nonsense",
          fromHeaders: [{ name: "" }],
          outputClaimToHeaders: [{ header: "", claim: "" }],
        },
        { issuer: "j", jwks: makeKey("k").secret, outputPayloadToHeader: "a\r\nb" },
        { issuer: "k", jwksUri: "https://keys" },
      ),
    ];
    const grpc = { service: "gate.default.svc.cluster.local", port: 9000 };
    const mesh = { extensionProviders: [{ name: "gate", envoyExtAuthzGrpc: grpc }] };
    const { listeners, clusters, endpoints } = await renderProxy({ objects, mesh, profile: "envoy" });
    const withSecrets = await createStaticSecrets();
    const inlined = [...clusters.values()].map(({ edsClusterConfig, ...cluster }) =>
      edsClusterConfig ? { ...cluster, type: "STATIC", loadAssignment: endpoints.get(cluster.name) } : cluster,
    );
    const file = join(dir, "bootstrap.json");
    const staticResources = withSecrets({ listeners: [listeners.get("virtualInbound")], clusters: inlined });
    writeFileSync(file, JSON.stringify({ node: { id: "test", cluster: "test" }, staticResources }));
    const run = spawnSync(findEnvoy() ?? "", ["--mode", "validate", "-c", file, "-l", "error"], { encoding: "utf8" });
    expect(run.status === 0 ? "" : run.stderr).toBe("");
  });
});

test("a dump shows public keys, and hides the secret of symmetric ones", async () => {
  const shared = JSON.stringify({ keys: [{ kty: "oct", kid: "s", k: "c2VjcmV0LXNlY3JldA" }] });
  const open = makeKey("k").open;
  const objects = [...workload(), tokens({ issuer: "a", jwks: open }, { issuer: "b", jwks: shared })];
  const offline = createOffline({ objects });
  const [proxy] = offline.proxies();
  if (!proxy) throw new Error("no proxy");
  const resource = createRenderer(offline.mesh, offline.classOf(proxy)).get(types.listener, "virtualInbound");
  if (!resource) throw new Error("no listener");
  const print = createJsonPrinter();
  expect(jwksOf(print(types.listener, bytesOf(resource)))).toEqual([open, shared]);
  const hidden = shared.replace("c2VjcmV0LXNlY3JldA", "[redacted]");
  expect(jwksOf(print(types.listener, shownResource(types.listener, bytesOf(resource))))).toEqual([open, hidden]);
});
