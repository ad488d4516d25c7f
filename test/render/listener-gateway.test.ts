/** Which listeners a Gateway's servers make, objects in to JSON out. */
import { describe, expect, test } from "vitest";
import { type KubeObject, types } from "../../src/model/index.ts";
import { istio, service, slice, smallMesh } from "./objects.ts";
import { type Json, type RenderInput, renderProxy } from "./offline.ts";

const mesh = smallMesh("http", "router");

const gateway = (servers: readonly unknown[], name = "g"): KubeObject =>
  istio("Gateway", name, { selector: { app: "client" }, servers });

const server = (
  number: number,
  protocol: string,
  hosts: readonly string[],
  more: Readonly<Record<string, unknown>> = {},
) => ({
  port: { number, protocol, name: `${protocol.toLowerCase()}-${number}-${hosts.join("-")}` },
  hosts,
  ...more,
});

const listeners = async (objects: readonly KubeObject[], rest: Partial<RenderInput> = {}) =>
  (await renderProxy({ ...rest, objects: [...mesh, ...objects] })).listeners;

const rds = (chain: Json): string => chain.filters.at(-1).typedConfig.rds?.routeConfigName;
const tls = (chain: Json): Json => chain.transportSocket.typedConfig;
const simple = (credentialName: string, more: object = {}) => ({ tls: { mode: "SIMPLE", credentialName, ...more } });

describe("HTTP", () => {
  test("servers of several Gateways on one port share one chain and its routes", async () => {
    const made = await listeners([
      gateway([server(80, "HTTP", ["a.com"])]),
      gateway([server(80, "HTTP2", ["b.com"])], "h"),
    ]);
    expect([...made.keys()]).toEqual(["0.0.0.0_80"]);
    expect(made.get("0.0.0.0_80").filterChains.map(rds)).toEqual(["http.80"]);
  });

  test("a Service's port is served on the port that it targets", async () => {
    const own = [
      service("client", { port: 80, targetPort: 8080 }),
      slice("client", [{ address: "10.0.0.9", pod: "client" }]),
    ];
    expect([...(await listeners([...own, gateway([server(80, "HTTP", ["*"])])])).keys()]).toEqual(["0.0.0.0_8080"]);
  });

  test("a second protocol on a port is left out, on another address it is not", async () => {
    const servers = [
      server(80, "HTTP", ["*"]),
      server(80, "TCP", ["*"]),
      server(80, "HTTP", ["*"], { bind: "10.9.9.9" }),
    ];
    const made = await listeners([gateway(servers)]);
    expect([...made.keys()].sort()).toEqual(["0.0.0.0_80", "10.9.9.9_80"]);
    expect(made.get("10.9.9.9_80").filterChains.map(rds)).toEqual(["http.80.10.9.9.9"]);
  });

  test("what is in front of the gateway decides whom it believes", async () => {
    const gatewayTopology = { numTrustedProxies: 2, forwardClientCertDetails: "FORWARD_ONLY", proxyProtocol: {} };
    const made = await listeners([gateway([server(80, "HTTP", ["*"])])], {
      mesh: { defaultConfig: { gatewayTopology } },
    });
    const listener = made.get("0.0.0.0_80");
    expect(listener.listenerFilters[0].name).toBe("envoy.filters.listener.proxy_protocol");
    const manager = listener.filterChains[0].filters.at(-1).typedConfig;
    expect(manager).toMatchObject({
      xffNumTrustedHops: 2,
      forwardClientCertDetails: "FORWARD_ONLY",
      useRemoteAddress: true,
    });
    expect(manager.setCurrentClientCertDetails).toBeUndefined();
  });
});

describe("TLS", () => {
  test("one chain per server, by name; a host that is taken is left out", async () => {
    const servers = [
      server(443, "HTTPS", ["b.com", "a.com"], simple("one")),
      server(443, "HTTPS", ["a.com"], simple("two")),
    ];
    const [chain, ...more] = (await listeners([gateway(servers)])).get("0.0.0.0_443").filterChains;
    expect(more).toEqual([]);
    expect(chain.filterChainMatch.serverNames).toEqual(["a.com", "b.com"]);
    expect(rds(chain)).toBe("https.443.https-443-b.com-a.com.g.default");
  });

  test.each<[string, object, object]>([
    ["SIMPLE", { mode: "SIMPLE", credentialName: "c" }, { requireClientCertificate: false }],
    [
      "MUTUAL",
      { mode: "MUTUAL", credentialName: "c" },
      { requireClientCertificate: true, ca: "kubernetes://c-cacert" },
    ],
    [
      "OPTIONAL_MUTUAL",
      { mode: "OPTIONAL_MUTUAL", credentialName: "c" },
      { requireClientCertificate: false, ca: "kubernetes://c-cacert" },
    ],
    ["ISTIO_MUTUAL", { mode: "ISTIO_MUTUAL" }, { requireClientCertificate: true, ca: "ROOTCA" }],
    [
      "files",
      { mode: "MUTUAL", serverCertificate: "/a", privateKey: "/b", caCertificates: "/c" },
      { requireClientCertificate: true, ca: "file-root:/c" },
    ],
  ])("%s", async (_, settings, expected) => {
    const [chain] = (await listeners([gateway([server(443, "HTTPS", ["a.com"], { tls: settings })])])).get(
      "0.0.0.0_443",
    ).filterChains;
    const { requireClientCertificate, commonTlsContext } = tls(chain);
    const ca = commonTlsContext.combinedValidationContext?.validationContextSdsSecretConfig.name;
    expect({ requireClientCertificate, ...(ca ? { ca } : {}) }).toEqual(expected);
  });

  test("ciphers that Envoy does not know are left out instead of losing the listener", async () => {
    const settings = simple("c", {
      cipherSuites: ["NOPE", "ECDHE-RSA-AES128-SHA", "ECDHE-RSA-AES128-SHA"],
      minProtocolVersion: "TLSV1_2",
    });
    const [chain] = (await listeners([gateway([server(443, "HTTPS", ["a.com"], settings)])])).get(
      "0.0.0.0_443",
    ).filterChains;
    expect(tls(chain).commonTlsContext.tlsParams).toEqual({
      cipherSuites: ["ECDHE-RSA-AES128-SHA"],
      tlsMinimumProtocolVersion: "TLSv1_2",
    });
  });

  test("passthrough follows the TLS rules of VirtualServices; a name is taken once", async () => {
    const rule = (sni: string) => ({
      match: [{ sniHosts: [sni] }],
      route: [{ destination: { host: "web", port: { number: 80 } } }],
    });
    const routes = istio("VirtualService", "v", {
      hosts: ["a.com"],
      gateways: ["g"],
      tls: [rule("a.com"), rule("a.com"), rule("x.a.com")],
    });
    const made = await listeners([gateway([server(443, "TLS", ["a.com"], { tls: { mode: "PASSTHROUGH" } })]), routes]);
    const names = made.get("0.0.0.0_443").filterChains.map((chain: Json) => chain.filterChainMatch.serverNames);
    expect(names).toEqual([["a.com"], ["x.a.com"]]);
  });

  test("R21: by AUTO_PASSTHROUGH only services of the mesh are reached, by their exact name and over Istio's mTLS", async () => {
    const foreign = istio("ServiceEntry", "f", {
      hosts: ["f.com"],
      location: "MESH_EXTERNAL",
      resolution: "DNS",
      ports: [{ number: 80, name: "http", protocol: "HTTP" }],
    });
    const made = await listeners([
      foreign,
      gateway([server(15443, "TLS", ["*"], { tls: { mode: "AUTO_PASSTHROUGH" } })]),
    ]);
    const matches = made.get("0.0.0.0_15443").filterChains.map((chain: Json) => chain.filterChainMatch);
    expect(matches.flatMap((match: Json) => match.serverNames)).toEqual([
      "outbound_.80_._.web.default.svc.cluster.local",
    ]);
    for (const { applicationProtocols } of matches)
      expect(applicationProtocols.every((name: string) => name.startsWith("istio"))).toBe(true);
  });
});

describe("bad servers", () => {
  test.each<[string, unknown]>([
    ["no port", { hosts: ["*"] }],
    ["no hosts", { port: { number: 81, protocol: "HTTP", name: "x" } }],
    ["nothing bound to it", server(81, "TCP", ["*"])],
    ["passthrough without rules", server(81, "TLS", ["*"], { tls: {} })],
  ])("%s: the others are served", async (_, bad) => {
    const made = await listeners([gateway([bad, server(80, "HTTP", ["*"])])]);
    expect(made.get("0.0.0.0_80").filterChains.map(rds)).toEqual(["http.80"]);
  });

  test("a server with a pin that Envoy would refuse is not served at all; the others of its port are", async () => {
    const pinned = { mode: "MUTUAL", credentialName: "c", verifyCertificateSpki: ["too short"] };
    const servers = [server(443, "HTTPS", ["a.com"], { tls: pinned }), server(443, "HTTPS", ["b.com"], simple("c"))];
    const { filterChains } = (await listeners([gateway(servers)])).get("0.0.0.0_443");
    expect(filterChains.map((chain: Json) => chain.filterChainMatch.serverNames)).toEqual([["b.com"]]);
  });

  test("a gateway that no Gateway selects listens nowhere", async () => {
    expect((await listeners([])).size).toBe(0);
  });
});

test("the Gateway and its server are remembered as the cause", async () => {
  const rendered = await renderProxy({ objects: [...mesh, gateway([server(80, "HTTP", ["*"])])] });
  expect(rendered.causes(types.listener, "0.0.0.0_80")).toContain("Gateway/default/g#spec.servers[0]");
});
