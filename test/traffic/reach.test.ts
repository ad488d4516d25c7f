/** Who can be reached, and by what name: SNI, gateways, REGISTRY_ONLY, Sidecars. */
import http from "node:http";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { KubeObject } from "../../src/model/index.ts";
import { istio } from "../render/objects.ts";
import { lacks } from "../require.ts";
import { type Backend, httpPort, tlsPort } from "./backend.ts";
import { meshConfig, serviceOf, startTrafficMesh, type TrafficMesh } from "./mesh.ts";
import type { TrafficProxy } from "./proxy.ts";
import { speakTls } from "./speak-tls.ts";

const get = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

describe.skipIf(lacks("root", "envoy", "iptables"))("reach", () => {
  let mesh: TrafficMesh;
  let a: Backend;
  let b: Backend;

  beforeAll(async () => {
    mesh = await startTrafficMesh();
    a = await mesh.backend("a");
    b = await mesh.backend("b");
  });
  afterAll(() => mesh?.close());
  afterEach(() => {
    a.seen.length = 0;
    b.seen.length = 0;
  });

  describe("of a sidecar", () => {
    let client: TrafficProxy;
    let [web, other] = ["", ""];
    const registryOnly = meshConfig({ outboundTrafficPolicy: { mode: "REGISTRY_ONLY" } });

    beforeAll(async () => {
      [web, other] = [mesh.serviceAddress(), mesh.serviceAddress()];
      await mesh.apply(
        ...serviceOf("web", { address: web, backends: [a] }),
        ...serviceOf("other", { address: other, backends: [b] }),
      );
      client = await mesh.proxy("sidecar", "client");
    });

    test("SNI chooses the upstream, and TLS goes through untouched", async () => {
      const address = mesh.serviceAddress();
      const [one, two] = [a, b].map(({ name }) => [`${name}.example`, `backend-${name}`] as const);
      const external = (host: string, backend: Backend): KubeObject =>
        istio("ServiceEntry", host, {
          hosts: [host],
          addresses: [address],
          resolution: "STATIC",
          ports: [{ number: 443, name: "tls", protocol: "TLS", targetPort: tlsPort }],
          endpoints: [{ address: backend.address }],
        });
      const route = (sni: string, host: string) => ({
        match: [{ port: 443, sniHosts: [sni] }],
        route: [{ destination: { host, port: { number: 443 } } }],
      });
      // Crossed over, so that only the route can be the cause.
      const rule = istio("VirtualService", "sni", {
        hosts: ["a.example", "b.example"],
        tls: [route("a.example", "b.example"), route("b.example", "a.example")],
      });
      await mesh.apply(external("a.example", a), external("b.example", b), rule);
      const reached = async (sni: string) =>
        (await client.caller.connect({ address, port: 443, sni, send: get })).received.split("\r\n\r\n")[1];
      expect(one?.[0]).toBe("a.example");
      expect(two?.[0]).toBe("b.example");
      expect(await reached("a.example")).toContain("b a.example");
      expect(await reached("b.example")).toContain("a b.example");
    });

    test("REGISTRY_ONLY blocks what is in no registry, and nothing else", async () => {
      const unknown = { address: b.address, port: httpPort, host: "unknown.example" };
      const known = { address: web, port: 80, host: "web" };
      const viaKnownPort = { address: b.address, port: 80, host: "unknown.example" };
      expect((await client.caller.request(unknown)).status).toBe(200);
      await mesh.apply(registryOnly);
      expect(await client.caller.request(unknown)).toMatchObject({
        status: 0,
        error: expect.stringMatching(/reset|hang up/i),
      });
      expect((await client.caller.request(viaKnownPort)).status).toBe(502);
      expect((await client.caller.request(known)).status).toBe(200);
      expect(b.seen).toHaveLength(1);
      await mesh.remove(registryOnly);
      expect((await client.caller.request(unknown)).status).toBe(200);
    });

    test("a Sidecar hides what it does not list", async () => {
      const call = (address: string, host: string) => client.caller.request({ address, port: 80, host });
      expect([(await call(web, "web")).body, (await call(other, "other")).body]).toEqual(["a", "b"]);
      const sidecar = istio("Sidecar", "narrow", {
        egress: [{ hosts: ["./web.default.svc.cluster.local"] }],
        outboundTrafficPolicy: { mode: "REGISTRY_ONLY" },
      });
      await mesh.apply(sidecar);
      expect((await call(web, "web")).body).toBe("a");
      expect((await call(other, "other")).status).toBe(502);
      // What no route names any longer is drained before it goes.
      await expect.poll(() => client.admin("/clusters"), { timeout: 300_000 }).not.toContain("other.default");
      await mesh.remove(sidecar);
      expect((await call(other, "other")).body).toBe("b");
    });
  });

  describe("through a gateway", () => {
    let gateway: TrafficProxy;
    beforeAll(async () => {
      const { cert, key } = await mesh.certificate("one.example");
      // A server of the mesh, as its label says: TLS to it is Istio's.
      const m = await mesh.backend("m", { mesh: true });
      await mesh.apply(
        ...serviceOf("app", { address: mesh.serviceAddress(), backends: [a] }),
        ...serviceOf("secure", { address: mesh.serviceAddress(), backends: [b], portName: "tls", port: 443 }),
        // The port is called HTTP; behind it is TLS, which an AUTO_PASSTHROUGH server never opens.
        ...serviceOf("inside", { address: mesh.serviceAddress(), backends: [m], targetPort: tlsPort }),
        ...serviceOf("hidden", { address: mesh.serviceAddress(), backends: [m], targetPort: tlsPort }).map(privately),
        istio("ServiceEntry", "outside", {
          hosts: ["outside.local"],
          resolution: "STATIC",
          ports: [{ number: 80, name: "http", protocol: "HTTP", targetPort: tlsPort }],
          endpoints: [{ address: b.address }],
        }),
        {
          apiVersion: "v1",
          kind: "Secret",
          metadata: { name: "one", namespace: "default" },
          type: "kubernetes.io/tls",
          data: { "tls.crt": Buffer.from(cert).toString("base64"), "tls.key": Buffer.from(key).toString("base64") },
        },
        istio("Gateway", "edge", {
          selector: { app: "edge" },
          servers: [
            { port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["one.example"] },
            {
              port: { number: 443, name: "https", protocol: "HTTPS" },
              hosts: ["one.example"],
              tls: { mode: "SIMPLE", credentialName: "one" },
            },
            {
              port: { number: 443, name: "pass", protocol: "TLS" },
              hosts: ["two.example"],
              tls: { mode: "PASSTHROUGH" },
            },
            {
              port: { number: 15443, name: "cross", protocol: "TLS" },
              hosts: ["*.local"],
              tls: { mode: "AUTO_PASSTHROUGH" },
            },
          ],
        }),
        istio("VirtualService", "edge", {
          hosts: ["one.example", "two.example"],
          gateways: ["edge"],
          http: [{ route: [{ destination: { host: "app", port: { number: 80 } } }] }],
          tls: [
            {
              match: [{ sniHosts: ["two.example"] }],
              route: [{ destination: { host: "secure", port: { number: 443 } } }],
            },
          ],
        }),
      );
      gateway = await mesh.proxy("router", "edge");
      await mesh.apply();
    });
    /** Seen from the gateway's namespace by nobody but its own: exported to none. */
    const privately = (object: KubeObject): KubeObject => ({
      ...object,
      metadata: { ...object.metadata, annotations: { "networking.istio.io/exportTo": "~" } },
    });
    const call = (sni: string, port: number, alpn?: readonly string[]) =>
      speakTls({ host: gateway.address, port, sni, ...(alpn ? { alpn } : {}) });

    test("HTTP by host; TLS ended or passed through by SNI", async () => {
      const plain = (host: string) => askHost(gateway.address, host);
      expect([await plain("one.example"), await plain("two.example")]).toEqual([200, 404]);
      expect(await call("one.example", 443)).toMatchObject({ body: "a", names: "DNS:one.example" });
      expect(await call("two.example", 443)).toMatchObject({ body: "b two.example", names: "DNS:b.example" });
      expect(await call("three.example", 443)).toMatchObject({ body: "", names: "" });
    });

    test("R21: an AUTO_PASSTHROUGH server lets SNI reach only exported services of the mesh, with Istio's ALPN", async () => {
      const inside = "outbound_.80_._.inside.default.svc.cluster.local";
      const istioAlpn = ["istio-peer-exchange", "istio"];
      expect(await call(inside, 15443, istioAlpn)).toMatchObject({ body: `m ${inside}` });
      const reached: string[] = [];
      for (const [sni, alpn] of attempts(inside, istioAlpn)) {
        const { names } = await call(sni, 15443, alpn);
        if (names !== "") reached.push(`${sni} ${alpn}`);
      }
      expect(reached).toEqual([]);
    });

    test("Envoy refused nothing", () => {
      expect(mesh.controlPlane.refusals()).toEqual([]);
    });
  });
});

function askHost(address: string, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = http.get({ host: address, headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    request.on("error", reject);
  });
}

/** Names near the allowed one and made of its pieces, always the same ones, and the allowed one with other protocols. */
function attempts(good: string, istioAlpn: readonly string[]): readonly (readonly [string, readonly string[]])[] {
  const known = [
    good.replace("80", "81"),
    good.replace("outbound_.", "outbound."),
    good.replace(/_\./g, "|"),
    good.replace("inside", "hidden"),
    // Not of the mesh: its servers do not take Istio's TLS.
    good.replace("inside", "app"),
    good.replace("80_._.inside", "443_._.secure"),
    good.replace("inside.default.svc.cluster.local", "outside.local"),
    "inside.default.svc.cluster.local",
    "inbound_.80_._.inside.default.svc.cluster.local",
    "outbound_.80_.v1_.inside.default.svc.cluster.local",
    "PassthroughCluster",
    "BlackHoleCluster",
    "xds-grpc",
    "sds-grpc",
    "agent",
    "prometheus_stats",
    "a.local",
    "local",
  ];
  const pieces = [
    "outbound",
    "_.",
    "80",
    "|",
    "inside",
    "hidden",
    "outside",
    ".default.svc.cluster.local",
    ".local",
    "*",
    "..",
    "v1",
    "xn--x",
    "-",
  ];
  let seed = 42;
  const random = (below: number): number => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return Math.floor((seed / 2147483648) * below);
  };
  const made = Array.from({ length: 150 }, () =>
    Array.from({ length: 1 + random(7) }, () => pieces[random(pieces.length)]).join(""),
  );
  const otherAlpn = [["h2"], ["http/1.1"], ["h2", "http/1.1"], ["istioo"], [" istio"]];
  return [
    ...[...known, ...made, "", "a".repeat(250)].map((sni) => [sni, istioAlpn] as const),
    ...otherAlpn.map((alpn) => [good, alpn] as const),
  ];
}
