/** Holes of the past that a control plane itself opened: in what it renders, makes, or is allowed to do. */
import { describe, expect, test } from "vitest";
import { reviewAdmissionText } from "../../src/config/index.ts";
import { createInjectSettings, gatewayObjects, injectDocuments } from "../../src/inject/index.ts";
import { completeValues, installObjects } from "../../src/install/index.ts";
import { readList, readRecord } from "../../src/lib/index.ts";
import { istioKinds, type KubeObject, mergeMeshConfig, type Schema } from "../../src/model/index.ts";
import { createRandom } from "../random.ts";
import { renderProxy } from "../render/offline.ts";

const settings = createInjectSettings({
  values: {},
  config: undefined,
  meshConfig: mergeMeshConfig({}),
  revision: "default",
  compliancePolicy: "",
  annotationError: () => undefined,
});
const service = (
  name: string,
  namespace: string,
  ports: readonly object[] = [{ name: "http", port: 80, targetPort: 8080 }],
): KubeObject => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name, namespace },
  spec: { clusterIP: name === "bank" ? "10.0.0.1" : "10.0.0.2", selector: { app: name }, ports },
});
const proxy = (name: string, namespace: string, labels: object = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace, labels: { app: name, ...labels } },
  spec: {
    containers: [
      { name: "app", image: "x", ports: [{ containerPort: 8080 }] },
      { name: "istio-proxy", image: "x" },
    ],
  },
  status: { phase: "Running", podIP: "10.1.0.1" },
});
const slice = (name: string, namespace: string): KubeObject => ({
  apiVersion: "discovery.k8s.io/v1",
  kind: "EndpointSlice",
  metadata: { name, namespace, labels: { "kubernetes.io/service-name": name } },
  addressType: "IPv4",
  endpoints: [{ addresses: ["10.1.0.1"], conditions: { ready: true }, targetRef: { kind: "Pod", name, namespace } }],
  ports: [{ name: "http", port: 8080 }],
});

describe("R18: ports in policies", () => {
  test("R18: a policy's port is the workload's own, whatever the Service calls it, and stays what was written", async () => {
    const policy = (port: string): KubeObject => ({
      apiVersion: "security.istio.io/v1",
      kind: "AuthorizationPolicy",
      metadata: { name: "p", namespace: "n" },
      spec: { action: "DENY", rules: [{ to: [{ operation: { ports: [port] } }] }] },
    });
    for (const port of ["80", "8080"]) {
      const { listeners } = await renderProxy({
        objects: [service("web", "n"), slice("web", "n"), proxy("web", "n"), policy(port)],
      });
      const text = JSON.stringify(listeners.get("virtualInbound"));
      expect(text).toContain(`"destinationPort":${port}`);
      expect(text).not.toContain(`"destinationPort":${port === "80" ? 8080 : 80}}`);
    }
  });

  test("R18: peer authentication by port is the workload's own port, too", async () => {
    const peers: KubeObject = {
      apiVersion: "security.istio.io/v1",
      kind: "PeerAuthentication",
      metadata: { name: "p", namespace: "n" },
      spec: {
        selector: { matchLabels: { app: "web" } },
        mtls: { mode: "STRICT" },
        portLevelMtls: { 8080: { mode: "DISABLE" } },
      },
    };
    const { listeners } = await renderProxy({
      objects: [service("web", "n"), slice("web", "n"), proxy("web", "n"), peers],
    });
    const chains = readList(listeners.get("virtualInbound")?.filterChains).map(readRecord);
    const own = chains.filter((chain) => readRecord(chain.filterChainMatch).destinationPort === 8080);
    expect(own.length).toBeGreaterThan(0);
    expect(own.some((chain) => "transportSocket" in chain)).toBe(false);
  });
});

/** Values that have got out of a template before. */
function* hostileTexts(count: number): Generator<string> {
  const random = createRandom(25);
  const pieces = [
    "\n",
    "---\n",
    "{{ .Values }}",
    "{{`x`}}",
    "\u0000",
    "\u0085",
    "'",
    '"',
    "#",
    ": ",
    "- ",
    "\t",
    "|\n",
    "&a *a",
    "!!str",
    "$(HOME)",
    "\\",
    "\nspec:\n  hostNetwork: true\n",
    "kind: Secret",
    "\u2028",
    "%YAML",
    "a".repeat(300),
    "}}",
    "name: x",
  ];
  // The end keeps them apart from everything else that is in an object.
  for (let i = 0; i < count; i++)
    yield [...Array.from({ length: 1 + random.whole(5) }, () => random.pick(pieces)), "~end"].join("");
}

describe("R25: what users write is never read as YAML", () => {
  /** A word in place of the text: what is left must be what the word alone would give. */
  const word = "word";
  const masked = (value: unknown, text: string): unknown =>
    JSON.parse(JSON.stringify(value), (_, item: unknown) =>
      typeof item === "string" ? item.replaceAll(text, word) : item,
    );
  const free = [
    "note",
    "sidecar.istio.io/logLevel",
    "sidecar.istio.io/agentLogLevel",
    "sidecar.istio.io/componentLogLevel",
  ];
  const annotated = (text: string): Readonly<Record<string, string>> =>
    Object.fromEntries([...free, "sidecar.istio.io/proxyImage"].map((name) => [name, text]));

  test("R25: 500 annotations of Gateways stay values, and change nothing else of what is made", () => {
    const base = masked(gatewayObjects(sources(annotated(word)), settings), word);
    expect(JSON.stringify(base)).toContain(word);
    for (const text of hostileTexts(500))
      expect(masked(gatewayObjects(sources(annotated(text)), settings), text)).toEqual(base);
  });

  test("R25: 500 annotations of a Pod stay values, and change nothing else of what is injected", () => {
    const base = inject(proxyless(annotated(word)));
    expect(JSON.stringify(base)).toContain(`--proxyLogLevel=${word}`);
    for (const text of hostileTexts(500)) expect(masked(inject(proxyless(annotated(text))), text)).toEqual(base);
  });

  const inject = (pod: KubeObject): readonly unknown[] => {
    const options = { settings, nativeSidecars: false, readProxyConfig: () => ({}), warn: () => {} };
    return injectDocuments(JSON.stringify(pod), options).map((one) => ("object" in one ? one.object : {}));
  };
  const sources = (annotations: Readonly<Record<string, string>>) => ({
    gateway: {
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "Gateway",
      metadata: { name: "edge", namespace: "n", uid: "u", annotations },
      spec: {},
    },
    className: "istio",
    name: "edge-istio",
    serviceAccount: "edge-istio",
    listeners: [{ name: "http", port: 80, protocol: "HTTP" }],
    proxyConfig: {},
    parameters: [],
  });
  const proxyless = (annotations: Readonly<Record<string, string>>): KubeObject => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace: "n", annotations },
    spec: { containers: [{ name: "app", image: "app:1" }] },
  });
});

describe("R29: patterns", () => {
  const long = "a".repeat(1025);
  /** Every path below a spec at which a user writes a pattern. */
  function* patternPaths(schema: Schema, path: readonly string[] = []): Generator<readonly string[]> {
    if (path.length > 12) return;
    if (schema.type === "array") yield* patternPaths(schema.items, [...path, "[]"]);
    else if (schema.type === "map") yield* patternPaths(schema.values, [...path, "{}"]);
    else if (schema.type === "object")
      for (const [name, child] of Object.entries(schema.fields)) {
        if (child.type === "string" && (name === "regex" || name === "proxyVersion")) yield [...path, name];
        yield* patternPaths(child, [...path, name]);
      }
  }
  const build = ([step, ...rest]: readonly string[]): unknown => {
    if (step === undefined) return long;
    if (step === "[]") return [build(rest)];
    return { [step === "{}" ? "key" : step]: build(rest) };
  };
  /** What a patch needs beside the pattern, so that nothing else is wrong with it. */
  const withRest = (spec: unknown): unknown => {
    const [patch] = readList(readRecord(spec).configPatches).map(readRecord);
    return patch ? { configPatches: [{ applyTo: "CLUSTER", patch: { operation: "REMOVE" }, ...patch }] } : spec;
  };
  const all = istioKinds.flatMap((kind) =>
    [...patternPaths(kind.spec)].map((path) => ({ kind, path, at: `${kind.kind} ${path.join(".")}` })),
  );

  test("R29: the schemas have the fields that are known to hold patterns", () => {
    expect(all.length).toBeGreaterThan(8);
    expect(all.map(({ at }) => at)).toContain("EnvoyFilter configPatches.[].match.proxy.proxyVersion");
  });

  test.each(all)("R29: more than 1024 characters are refused in $at", ({ kind, path }) => {
    const body = JSON.stringify({
      apiVersion: "admission.k8s.io/v1",
      kind: "AdmissionReview",
      request: {
        uid: "u",
        operation: "CREATE",
        object: {
          apiVersion: `${kind.group}/${kind.versions.find(({ storage }) => storage)?.name}`,
          kind: kind.kind,
          metadata: { name: "x", namespace: "n" },
          spec: withRest(build(path)),
        },
      },
    });
    const { allowed, status, warnings = [] } = reviewAdmissionText(body).review.response;
    // A version that is too long is never compiled, and the patch is for no proxy; as with Istio, it is only warned of.
    expect(allowed).toBe(path.at(-1) === "proxyVersion");
    expect([status?.message, ...warnings].join()).toMatch(/1024|too large|too long/i);
  });
});

test("R32: the rights of the control plane are these, and any other is looked at", () => {
  const objects = installObjects({
    namespace: "istio-system",
    values: completeValues("default", []),
    printYaml: JSON.stringify,
  });
  const writes = objects
    .filter(({ kind, metadata }) => kind.endsWith("Role") && metadata.name.includes("istiod"))
    .flatMap(({ kind, rules }) =>
      readList(rules)
        .map(readRecord)
        .flatMap((rule) => {
          const verbs = readList(rule.verbs).map(String);
          expect(JSON.stringify(rule)).not.toContain('"*"');
          expect(verbs).not.toContain("deletecollection");
          const changing = verbs.filter((verb) => !["get", "list", "watch"].includes(verb));
          return changing.length === 0
            ? []
            : readList(rule.resources).map((resource) => `${kind} ${String(resource)}: ${changing.join(" ")}`);
        }),
    );
  expect(writes.filter((line) => !/\/status: update patch$/.test(line)).toSorted()).toMatchInlineSnapshot(`
    [
      "ClusterRole configmaps: create update",
      "ClusterRole deployments: create update patch delete",
      "ClusterRole events: create patch",
      "ClusterRole gatewayclasses: create update patch",
      "ClusterRole horizontalpodautoscalers: create update patch delete",
      "ClusterRole mutatingwebhookconfigurations: update",
      "ClusterRole poddisruptionbudgets: create update patch delete",
      "ClusterRole serviceaccounts: create update patch delete",
      "ClusterRole services: create update patch delete",
      "ClusterRole subjectaccessreviews: create",
      "ClusterRole tokenreviews: create",
      "ClusterRole validatingwebhookconfigurations: update",
      "ClusterRole workloadentries: create update patch delete",
      "Role gateways: create",
      "Role leases: create update patch",
      "Role secrets: create update patch",
    ]
  `);
  for (const sensitive of ["pods", "nodes", "namespaces", "clusterroles", "clusterrolebindings", "secrets"])
    expect(
      writes.some((line) => line.startsWith(`ClusterRole ${sensitive}:`)),
      sensitive,
    ).toBe(false);
});

describe("R41: routes for hosts of other namespaces", () => {
  const steal: KubeObject = {
    apiVersion: "networking.istio.io/v1",
    kind: "VirtualService",
    metadata: { name: "steal", namespace: "thief" },
    spec: {
      hosts: ["bank.money.svc.cluster.local"],
      http: [{ route: [{ destination: { host: "mine.thief.svc.cluster.local" } }] }],
    },
  };
  const objects = [service("bank", "money"), service("mine", "thief"), proxy("client", "shop"), steal];
  const goesTo = async (ownHostsOnly: boolean): Promise<string> =>
    JSON.stringify((await renderProxy({ objects, ownHostsOnly })).routes.get("80"));

  /** The virtual host of the bank. */
  const bank = (text: string): string =>
    text.slice(text.indexOf('"bank.money.svc.cluster.local:80"'), text.indexOf('"mine.thief.svc.cluster.local:80"'));

  test("R41: Istio's own rule lets them; with FAIRLEAD_OWN_HOSTS_ONLY they are not served", async () => {
    expect(await goesTo(false)).toMatch(/bank\.money[^}]*\}?.*mine\.thief\.svc\.cluster\.local/);
    expect(bank(await goesTo(true))).toContain('"cluster":"outbound|80||bank.money.svc.cluster.local"');
    expect(bank(await goesTo(true))).not.toContain('"cluster":"outbound|80||mine.thief.svc.cluster.local"');
  });

  test("R41: an owner's own route, and one of the root namespace, hold all the same", async () => {
    for (const namespace of ["money", "istio-system"]) {
      const own = { ...steal, metadata: { name: "own", namespace } };
      const { routes } = await renderProxy({ objects: [...objects.slice(0, 3), own], ownHostsOnly: true });
      expect(bank(JSON.stringify(routes.get("80")))).toContain('"cluster":"outbound|80||mine.thief.svc.cluster.local"');
    }
  });
});
