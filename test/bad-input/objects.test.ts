/** Table W on objects and files: what is refused is refused by name, what is odd is served, and everything else goes on. */
import { describe, expect, test } from "vitest";
import { reviewAdmissionText } from "../../src/config/index.ts";
import { parseYaml } from "../../src/lib/index.ts";
import type { KubeObject } from "../../src/model/index.ts";
import { renderProxy } from "../render/offline.ts";

const istio = (kind: string, name: string, spec: object): KubeObject => ({
  apiVersion: "networking.istio.io/v1",
  kind,
  metadata: { name, namespace: "n" },
  spec,
});
/** Undefined where it is allowed. */
function refusal(object: unknown): string | undefined {
  const body = JSON.stringify({
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: { uid: "u", operation: "CREATE", namespace: "n", object },
  });
  const { allowed, status } = reviewAdmissionText(body).review.response;
  return allowed ? undefined : status?.message;
}
const route = (more: object = {}): object => ({ route: [{ destination: { host: "web" } }], ...more });
const virtualService = (spec: object, name = "v"): KubeObject =>
  istio("VirtualService", name, { hosts: ["web"], http: [route()], ...spec });

const base: readonly KubeObject[] = [
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "web", namespace: "n" },
    spec: { clusterIP: "10.0.0.10", selector: { app: "web" }, ports: [{ name: "http", port: 80 }] },
  },
  {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "client", namespace: "n", labels: { app: "client" } },
    spec: { containers: [{ name: "istio-proxy", image: "x" }] },
    status: { phase: "Running", podIP: "10.1.0.1" },
  },
];
const render = (...objects: readonly KubeObject[]) => renderProxy({ objects: [...base, ...objects] });
const web = "outbound|80||web.n.svc.cluster.local";

describe("W05: YAML", () => {
  const bomb = (levels: number): string =>
    [
      "a0: &a0 [x]",
      ...Array.from({ length: levels }, (_, i) => `a${i + 1}: &a${i + 1} [${`*a${i},`.repeat(10)}]`),
    ].join("\n");

  test.each([
    ["an alias bomb", bomb(9)],
    ["an anchor in itself", "a: &a [*a]"],
    ["a tag that is code", "a: !!js/function 'function () { return 1 }'"],
    ["a tag that nobody knows", "a: !nope x"],
    ["a tab for indentation", "a:\n\t- b"],
    ["nesting without end", `${"[".repeat(100_000)}`],
  ])("W05: %s is refused", (_, text) => {
    expect(() => parseYaml(text)).toThrow(/not YAML|more than|deeper|accepted/);
  });

  test("W05: a million empty documents are none; 200,000 keys are read or refused, not waited for", () => {
    expect(parseYaml("---\n".repeat(1_000_000).slice(0, 900_000))).toEqual([]);
    const keys = Array.from({ length: 200_000 }, (_, i) => `k${i}: 1`).join("\n");
    let [read, refused] = [0, ""];
    try {
      read = Object.keys(parseYaml(keys)[0] ?? {}).length;
    } catch (error) {
      refused = String(error);
    }
    expect(read === 200_000 || /accepted|more than/.test(refused)).toBe(true);
  });

  test("W05, W06: merge keys and __proto__ stay in the document that they stand in", () => {
    const [document] = parseYaml("base: &b {__proto__: {polluted: yes}}\nuse: {<<: *b}\n");
    expect(document).toBeDefined();
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});

describe("W08: texts that look like others", () => {
  test.each([
    ["right to left", "a\u202eb.example.com"],
    ["no width", "a\u200bb.example.com"],
    ["a look-alike", "b\u0430nk.example.com"],
    ["an umlaut", "bücher.example.com"],
    ["a NUL", "a\0b.example.com"],
    ["a space", "a b.example.com"],
    ["a line's end", "a\nb.example.com"],
  ])("W08: a host with %s is refused", (_, host) => {
    expect(refusal(virtualService({ hosts: [host] }))).toBeDefined();
    const entry = istio("ServiceEntry", "s", {
      hosts: [host],
      resolution: "DNS",
      ports: [{ number: 80, name: "http", protocol: "HTTP" }],
    });
    expect(refusal(entry)).toBeDefined();
  });
});

describe("W09: headers", () => {
  test.each([
    ["a line's end in a value", { "x-a": "a\r\nx-b: c" }],
    ["a NUL in a value", { "x-a": "a\0" }],
    ["a name that HTTP itself uses", { ":path": "b" }],
    ["an empty name", { "": "b" }],
  ])("W09: %s is refused", (_, set) => {
    expect(refusal(virtualService({ http: [route({ headers: { request: { set } } })] }))).toBeDefined();
    expect(refusal(virtualService({ http: [route({ headers: { response: { add: set } } })] }))).toBeDefined();
  });

  test("W09: a name with a space is no header to match by; the authority may be set in requests alone", () => {
    expect(
      refusal(virtualService({ http: [route({ match: [{ headers: { "x a": { exact: "b" } } }] })] })),
    ).toBeDefined();
    const set = { ":authority": "b" };
    expect(refusal(virtualService({ http: [route({ headers: { request: { set } } })] }))).toBeUndefined();
    expect(refusal(virtualService({ http: [route({ headers: { response: { set } } })] }))).toBeDefined();
  });
});

describe("W10: EnvoyFilters", () => {
  const filter = (name: string, ...configPatches: readonly object[]): KubeObject =>
    istio("EnvoyFilter", name, { configPatches });
  const listenerFilter = (operation: string, value: object): object => ({
    applyTo: "HTTP_FILTER",
    match: { context: "SIDECAR_OUTBOUND" },
    patch: { operation, value },
  });

  test("W10: a patch of a type that nobody knows costs nothing else", async () => {
    const bad = listenerFilter("INSERT_BEFORE", {
      name: "x",
      typed_config: { "@type": "type.googleapis.com/no.such.Type", a: 1 },
    });
    const { clusters, listeners } = await render(filter("bad", bad), filter("worse", { applyTo: "NOPE" }));
    expect(clusters.has(web)).toBe(true);
    expect(listeners.size).toBeGreaterThan(0);
  });

  test("W10: one that removes all clusters leaves listeners, and the other way round", async () => {
    const remove = (applyTo: string): object => ({ applyTo, patch: { operation: "REMOVE" } });
    expect((await render(filter("c", remove("CLUSTER")))).listeners.size).toBeGreaterThan(0);
    expect((await render(filter("l", remove("LISTENER")))).clusters.has(web)).toBe(true);
  });

  test("W10: ten thousand patches are applied, and a script is text", async () => {
    const script = "function envoy_on_request(h)\n  while true do end\nend";
    const lua = {
      name: "lua",
      typed_config: {
        "@type": "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua",
        default_source_code: { inline_string: script },
      },
    };
    const many = Array.from({ length: 10_000 }, (_, i) => ({
      applyTo: "CLUSTER",
      match: { cluster: { name: `none-${i}` } },
      patch: { operation: "MERGE", value: { connect_timeout: "1s" } },
    }));
    const { clusters, listeners } = await render(
      filter("many", ...many),
      filter("lua", listenerFilter("INSERT_BEFORE", lua)),
    );
    expect(clusters.has(web)).toBe(true);
    expect(listeners.size).toBeGreaterThan(0);
  });
});

describe("W11: too much of what is good", () => {
  test("W11: 10,000 routes are served, each of them", async () => {
    const http = Array.from({ length: 10_000 }, (_, i) => route({ match: [{ uri: { prefix: `/p${i}` } }] }));
    const { routes } = await render(virtualService({ http }));
    const hosts = routes.get("80")?.virtualHosts ?? [];
    expect(Math.max(...hosts.map((host: { routes?: unknown[] }) => host.routes?.length ?? 0))).toBe(10_000);
  });

  test("W11: delegates in a circle end, and everything else is served", async () => {
    const delegate = (name: string, to: string, hosts: object): KubeObject =>
      istio("VirtualService", name, {
        ...hosts,
        http: [{ match: [{ uri: { prefix: "/a" } }], delegate: { name: to, namespace: "n" } }],
      });
    const { clusters, routes } = await render(
      delegate("root", "one", { hosts: ["web"] }),
      delegate("one", "two", {}),
      delegate("two", "one", {}),
    );
    expect(clusters.has(web)).toBe(true);
    expect(routes.has("80")).toBe(true);
  });

  test("W11: weights beyond all bounds are refused, or served without being added up wrongly", async () => {
    const weighted = (weight: number): KubeObject =>
      virtualService({
        http: [
          {
            route: [
              { destination: { host: "web" }, weight },
              { destination: { host: "web" }, weight },
            ],
          },
        ],
      });
    expect(refusal(weighted(-1))).toBeDefined();
    expect(refusal(weighted(2_147_483_647)) ?? (await render(weighted(2_147_483_647))).clusters.has(web)).toBeTruthy();
  });

  test("W11: a thousand VirtualServices for one host: the first counts, and there is one virtual host", async () => {
    const all = Array.from({ length: 1000 }, (_, i) => virtualService({}, `v${i}`));
    const { routes } = await render(...all);
    const domains = (routes.get("80")?.virtualHosts ?? []).flatMap((host: { domains: string[] }) => host.domains);
    expect(new Set(domains).size).toBe(domains.length);
  });

  test("W11: Sidecar */*, a range of all addresses, 50,000 addresses, 1,000 subsets", async () => {
    const addresses = Array.from({ length: 50_000 }, (_, i) => `11.${i >> 16}.${(i >> 8) & 255}.${i & 255}`);
    const port = { number: 9000, name: "tcp", protocol: "TCP" };
    const subsets = Array.from({ length: 1000 }, (_, i) => ({ name: `s${i}`, labels: { v: `${i}` } }));
    const { clusters, listeners } = await render(
      istio("Sidecar", "all", { egress: [{ hosts: ["*/*"] }] }),
      istio("ServiceEntry", "everything", {
        hosts: ["all.example.com"],
        addresses: ["0.0.0.0/0"],
        resolution: "NONE",
        ports: [port],
      }),
      istio("ServiceEntry", "many", {
        hosts: ["many.example.com"],
        addresses,
        resolution: "NONE",
        ports: [{ number: 9001, name: "http", protocol: "HTTP" }],
      }),
      istio("DestinationRule", "subsets", { host: "web", subsets }),
    );
    expect(clusters.has("outbound|80|s999|web.n.svc.cluster.local")).toBe(true);
    expect(listeners.size).toBeGreaterThan(0);
  });
});
