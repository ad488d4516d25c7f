/** Which virtual hosts a proxy gets and whose routes they have, objects in to JSON out, as istiod's generator has it. */
import { describe, expect, test } from "vitest";
import { type KubeObject, types } from "../../src/model/index.ts";
import { istio, pod, service, smallMesh } from "./objects.ts";
import { type Json, type RenderInput, renderProxy } from "./offline.ts";

const web = "web.default.svc.cluster.local";
const to = (host: string, more: object = {}): object => ({ route: [{ destination: { host } }], ...more });
const virtualService = (name: string, spec: Readonly<Record<string, unknown>>): KubeObject =>
  istio("VirtualService", name, spec);
const created = (object: KubeObject, creationTimestamp: string): KubeObject => ({
  ...object,
  metadata: { ...object.metadata, creationTimestamp },
});

async function hosts(name: string, input: Partial<RenderInput>): Promise<ReadonlyMap<string, Json>> {
  const config = (await renderProxy({ ...input, objects: input.objects ?? smallMesh() })).routes.get(name);
  return new Map((config?.virtualHosts ?? []).map((host: Json) => [host.name, host]));
}

const clusters = (host: Json): unknown[] =>
  host.routes.map((route: Json) => route.route?.cluster ?? route.directResponse?.status);

describe("a sidecar's virtual hosts", () => {
  test("a service has its names, its address and one route", async () => {
    const host = (await hosts("80", {})).get(`${web}:80`);
    expect(host.domains).toEqual([web, `${web}.`, "web", "web.default.svc", "web.default", "10.96.0.1"]);
    expect(clusters(host)).toEqual([`outbound|80||${web}`]);
  });

  test("the older VirtualService has the host; the younger one does nothing there and is told so", async () => {
    const younger = created(virtualService("a", { hosts: ["web"], http: [to("young")] }), "2024-02-01T00:00:00Z");
    const older = created(virtualService("b", { hosts: ["web"], http: [to("old")] }), "2024-01-01T00:00:00Z");
    const rendered = await renderProxy({ objects: [...smallMesh(), younger, older] });
    const [host] = rendered.routes.get("80").virtualHosts;
    expect(clusters(host)).toEqual(["outbound|80||old.default.svc.cluster.local"]);
    expect(rendered.causes(types.route, "80")).toContain("VirtualService/default/a#spec.hosts");
  });

  test("a sniffed port keeps its own virtual host where an HTTP proxy shares its number", async () => {
    const spec = {
      ports: [
        { name: "http", port: 80, targetPort: 80, protocol: "TCP" },
        { name: "any", port: 7000, targetPort: 7000, protocol: "TCP" },
      ],
    };
    const sidecar = istio("Sidecar", "s", {
      egress: [
        { port: { number: 7000, protocol: "HTTP_PROXY", name: "x" }, bind: "0.0.0.0", hosts: ["*/*"] },
        { hosts: ["*/*"] },
      ],
    });
    const client = pod("client", { proxy: "sidecar", address: "10.0.0.9" });
    const found = await hosts(`${web}:7000`, { objects: [client, service("web", { spec }), sidecar] });
    expect([...found].map(([name, host]) => [name, host.domains, clusters(host)])).toEqual([
      [`${web}:7000`, ["*"], [`outbound|7000||${web}`]],
    ]);
  });

  test("a name made by shortening gives way to a host that is called so", async () => {
    const entry = istio("ServiceEntry", "e", {
      hosts: ["web.default"],
      ports: [{ number: 80, name: "http", protocol: "HTTP" }],
      resolution: "DNS",
    });
    const found = await hosts("80", { objects: [...smallMesh(), entry] });
    expect(found.get(`${web}:80`).domains).not.toContain("web.default");
    expect(found.get("web.default:80").domains).toEqual(["web.default", "web.default."]);
  });

  test("a VirtualService without a route for the proxy leaves its service alone", async () => {
    const source = virtualService("v", {
      hosts: ["web"],
      http: [to("x", { match: [{ sourceLabels: { app: "other" } }] })],
    });
    const gateways = virtualService("w", { hosts: ["web"], http: [to("x", { match: [{ gateways: ["edge"] }] })] });
    for (const object of [source, gateways]) {
      const host = (await hosts("80", { objects: [...smallMesh(), object] })).get(`${web}:80`);
      expect(clusters(host)).toEqual([`outbound|80||${web}`]);
    }
  });

  test("hosts without a service are served on port 80 alone", async () => {
    const v = virtualService("v", { hosts: ["Outside.example", "*.wild.example"], http: [to("web")] });
    const objects = [...smallMesh(), service("other", { port: 8080 }), v];
    expect([...(await hosts("80", { objects })).keys()]).toEqual([
      "*.wild.example:80",
      "outside.example:80",
      `${web}:80`,
      "allow_any",
    ]);
    expect([...(await hosts("8080", { objects })).keys()]).toEqual([
      "other.default.svc.cluster.local:8080",
      "allow_any",
    ]);
  });

  test("a wildcard takes the services that no narrower host has", async () => {
    const objects = [
      ...smallMesh(),
      service("api", { spec: { clusterIP: "10.96.0.2" } }),
      virtualService("all", { hosts: ["*.svc.cluster.local"], http: [to("all")] }),
      virtualService("narrow", { hosts: ["*.default.svc.cluster.local"], http: [to("narrow")] }),
      virtualService("own", { hosts: ["api"], http: [to("own")] }),
    ];
    const found = await hosts("80", { objects });
    expect(clusters(found.get(`${web}:80`))).toEqual(["outbound|80||narrow.default.svc.cluster.local"]);
    expect(clusters(found.get("api.default.svc.cluster.local:80"))).toEqual([
      "outbound|80||own.default.svc.cluster.local",
    ]);
  });

  test("a route that takes everything ends the list", async () => {
    const v = virtualService("v", {
      hosts: ["web"],
      http: [
        to("a", { match: [{ uri: { prefix: "/a" } }, { uri: { prefix: "/" } }, { uri: { prefix: "/b" } }] }),
        to("c"),
      ],
    });
    const host = (await hosts("80", { objects: [...smallMesh(), v] })).get(`${web}:80`);
    expect(host.routes.map((route: Json) => route.match.prefix)).toEqual(["/a", "/"]);
  });

  test("a sniffed port has routes of its own, for whatever name arrives", async () => {
    const rendered = await renderProxy({ objects: smallMesh("x") });
    expect([...rendered.routes.keys()]).toEqual([`${web}:80`]);
    expect(rendered.routes.get(`${web}:80`).virtualHosts).toMatchObject([{ name: `${web}:80`, domains: ["*"] }]);
  });

  test("routes of a sniffed port name what made them, and no other service", async () => {
    const younger = created(virtualService("a", { hosts: ["web"], http: [to("young")] }), "2024-02-01T00:00:00Z");
    const older = created(virtualService("b", { hosts: ["web"], http: [to("old")] }), "2024-01-01T00:00:00Z");
    const spec = { clusterIP: "10.96.0.2", ports: [{ name: "x", port: 80 }] };
    const { causes } = await renderProxy({ objects: [...smallMesh("x"), service("more", { spec }), younger, older] });
    const made = causes(types.route, `${web}:80`);
    expect(made).toEqual(
      expect.arrayContaining([
        "Service/default/web",
        "VirtualService/default/b",
        "VirtualService/default/a#spec.hosts",
      ]),
    );
    expect(made).not.toContain("Service/default/more");
    expect(causes(types.route, "more.default.svc.cluster.local:80")).not.toContain("VirtualService/default/b");
  });

  test("routes of a sniffed port are the client's own where they ask where traffic comes from", async () => {
    const match = (sourceNamespace: string) => ({ match: [{ sourceNamespace }] });
    const v = virtualService("v", { hosts: ["web"], http: [to("a", match("default")), to("b", match("x")), to("c")] });
    const [host] = (await renderProxy({ objects: [...smallMesh("x"), v] })).routes.get(`${web}:80`).virtualHosts;
    const cluster = (name: string): string => `outbound|80||${name}.default.svc.cluster.local`;
    expect([host.domains, clusters(host)]).toEqual([["*"], [cluster("a")]]);
  });

  test.each([
    ["REGISTRY_ONLY", "block_all", { directResponse: { status: 502 } }],
    ["ALLOW_ANY", "allow_any", { route: { cluster: "PassthroughCluster" } }],
    ["ALLOW_ANY_DYNAMIC_DNS", "allow_any_dynamic_dns", { route: { cluster: "AllowAnyDynamicDNSCluster" } }],
  ])("unknown destinations under %s", async (mode, name, route) => {
    const found = await hosts("80", { mesh: { outboundTrafficPolicy: { mode } } });
    expect(found.get(name)).toMatchObject({ domains: ["*"], routes: [{ name, ...route }] });
  });

  test("an egress proxy takes them all", async () => {
    const egressProxy = { host: "egress.default.svc.cluster.local", port: { number: 443 }, subset: "s" };
    const sidecar = istio("Sidecar", "s", {
      egress: [{ hosts: ["./*"] }],
      outboundTrafficPolicy: { mode: "ALLOW_ANY", egressProxy },
    });
    const found = await hosts("80", { objects: [...smallMesh(), sidecar] });
    expect(clusters(found.get("allow_any"))).toEqual(["outbound|443|s|egress.default.svc.cluster.local"]);
  });

  test("bare names belong to port 80 where a listener serves all ports", async () => {
    const both = [
      { name: "http", port: 80, targetPort: 8080, protocol: "TCP" },
      { name: "http-b", port: 81, targetPort: 8081, protocol: "TCP" },
    ];
    const found = await hosts("http_proxy", {
      objects: [pod("client", { proxy: "sidecar" }), service("web", { spec: { ports: both } })],
      mesh: { proxyHttpPort: 15002 },
    });
    expect(found.get(`${web}:80`).domains.slice(0, 2)).toEqual([web, `${web}:80`]);
    expect(found.get(`${web}:81`).domains.every((domain: string) => domain.endsWith(":81"))).toBe(true);
  });

  test("the mesh's retry policy, and headers that ProxyConfig switches", async () => {
    const mesh = {
      defaultHttpRetryPolicy: { attempts: 7, retryOn: "5xx" },
      defaultConfig: { proxyHeaders: { attemptCount: { disabled: true }, xForwardedHost: { enabled: true } } },
    };
    const v = virtualService("v", { hosts: ["x.example"], http: [to("web", { rewrite: { uri: "/" } })] });
    const found = await hosts("80", { objects: [...smallMesh(), v], mesh });
    expect(found.get(`${web}:80`).routes[0].route.retryPolicy).toMatchObject({ numRetries: 7, retryOn: "5xx" });
    expect(found.get(`${web}:80`)).not.toHaveProperty("includeRequestAttemptCount");
    expect(found.get("x.example:80").routes[0].route.appendXForwardedHost).toBe(true);
    expect(found.get("allow_any").routes[0].route.appendXForwardedHost).toBe(true);
  });
});

describe("a gateway's virtual hosts", () => {
  const server = (number: number, hosts: readonly string[], more: object = {}): object => ({
    port: { number, name: `http-${number}`, protocol: "HTTP" },
    hosts,
    ...more,
  });
  const edge = (...servers: readonly object[]): readonly KubeObject[] => [
    ...smallMesh("http", "router"),
    istio("Gateway", "edge", { selector: { app: "client" }, servers }),
  ];
  const bound = (name: string, hostNames: readonly string[], http: readonly object[]): KubeObject =>
    virtualService(name, { hosts: hostNames, gateways: ["edge"], http });

  test("without VirtualService everything is answered 404", async () => {
    const found = await hosts("http.80", { objects: edge(server(80, ["*"])) });
    expect([...found]).toEqual([["blackhole:80", { name: "blackhole:80", domains: ["*"] }]]);
  });

  test("of two hosts that overlap the narrower one is served; equal routes share a virtual host", async () => {
    const objects = [
      ...edge(server(80, ["*.a.example", "b.example", "default/c.example", "other/d.example"])),
      bound("v", ["x.a.example", "y.a.example", "*.example", "c.example", "d.example"], [to("web")]),
    ];
    const [host, ...rest] = (await hosts("http.80", { objects })).values();
    expect(rest).toEqual([]);
    expect(host).toMatchObject({
      name: "x.a.example:80",
      domains: ["x.a.example", "y.a.example", "b.example", "c.example", "*.a.example"],
    });
  });

  test("VirtualServices of one host are joined, with what takes everything at the end", async () => {
    const objects = [
      ...edge(server(80, ["*"])),
      bound("a", ["h.example"], [to("a")]),
      bound("b", ["h.example"], [to("b", { match: [{ uri: { prefix: "/b" } }] }), to("c")]),
    ];
    const host = (await hosts("http.80", { objects })).get("h.example:80");
    expect(clusters(host).map((name) => String(name).split("|")[3]?.split(".")[0])).toEqual(["b", "a", "c"]);
  });

  test("a redirect to HTTPS covers hosts with and without VirtualService", async () => {
    const objects = [
      ...edge(server(80, ["h.example", "empty.example", "other/n.example"], { tls: { httpsRedirect: true } })),
      bound("v", ["h.example"], [to("web")]),
    ];
    const found = [...(await hosts("http.80", { objects })).values()];
    expect(found.map(({ domains, requireTls }) => [domains, requireTls])).toEqual([
      [["h.example"], "ALL"],
      [["other/n.example", "empty.example"], "ALL"],
    ]);
  });

  test("ports and gateways in matches", async () => {
    const http = [
      to("a", { match: [{ port: 80, uri: { prefix: "/a" } }] }),
      to("b", { match: [{ port: 81, uri: { prefix: "/b" } }] }),
      to("c", { match: [{ gateways: ["mesh"] }] }),
      to("d", { match: [{ gateways: ["edge"], uri: { exact: "/d" } }] }),
    ];
    const objects = [...edge(server(80, ["*"]), server(81, ["*"])), bound("v", ["h.example"], http)];
    expect(clusters((await hosts("http.80", { objects })).get("h.example:80"))).toMatchObject(
      [/\|\|a/, /\|\|d/].map((p) => expect.stringMatching(p)),
    );
    expect(clusters((await hosts("http.81", { objects })).get("h.example:81"))).toMatchObject(
      [/\|\|b/, /\|\|d/].map((p) => expect.stringMatching(p)),
    );
  });

  test("the only port of a destination is its port", async () => {
    const objects = [...edge(server(8080, ["*"])), bound("v", ["h.example"], [to("web")])];
    expect(clusters((await hosts("http.8080", { objects })).get("h.example:8080"))).toEqual([`outbound|80||${web}`]);
  });
});
