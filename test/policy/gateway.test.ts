/** Gateways before a real stock Envoy: what comes from outside is not believed, and policies know who is calling. */

import type { IncomingHttpHeaders, Server } from "node:http";
import { connect as connectTcp, createServer, type Server as TcpServer } from "node:net";
import { connect as connectTls } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { KubeObject } from "../../src/model/index.ts";
import { istio, pod, service, slice } from "../render/objects.ts";
import { type Json, renderProxy } from "../render/offline.ts";
import { lacks } from "../require.ts";
import { ownAddress, ownPorts, type RunningEnvoy, startEnvoy, startHttp, staticCluster } from "./envoy.ts";
import { type Credentials, createIdentities, type Identities } from "./identity.ts";
import type { Peer } from "./request.ts";
import { withSecrets } from "./workload.ts";

const web: Peer = { trustDomain: "cluster.local", namespace: "shop", account: "web" };
const other: Peer = { trustDomain: "cluster.local", namespace: "tools", account: "batch" };

const policy = (spec: Readonly<Record<string, unknown>>): KubeObject => ({
  apiVersion: "security.istio.io/v1",
  kind: "AuthorizationPolicy",
  metadata: { name: "p", namespace: "default" },
  spec,
});
const from = (source: object): KubeObject => policy({ rules: [{ from: [{ source }] }] });

interface Gateway {
  readonly server: Readonly<Record<string, unknown>>;
  readonly policy: KubeObject;
  readonly topology?: Readonly<Record<string, unknown>>;
}

const gateways: Readonly<Record<string, Gateway>> = {
  plain: { server: { protocol: "HTTP" }, policy: policy({ rules: [{}] }) },
  "plain with a principal": { server: { protocol: "HTTP" }, policy: from({ principals: ["*/sa/web"] }) },
  "mutual http": {
    server: { protocol: "HTTPS", tls: { mode: "ISTIO_MUTUAL" } },
    policy: from({ principals: ["cluster.local/ns/shop/sa/web"] }),
  },
  "mutual tcp": { server: { protocol: "TLS", tls: { mode: "ISTIO_MUTUAL" } }, policy: from({ namespaces: ["shop"] }) },
  "simple http": {
    server: { protocol: "HTTPS", tls: { mode: "SIMPLE", credentialName: "cert" } },
    policy: from({ principals: ["*"] }),
  },
  "own mutual http": {
    server: { protocol: "HTTPS", tls: { mode: "MUTUAL", credentialName: "cert" } },
    policy: from({ principals: ["cluster.local/ns/shop/sa/web"] }),
  },
  "optional mutual http": {
    server: { protocol: "HTTPS", tls: { mode: "OPTIONAL_MUTUAL", credentialName: "cert" } },
    policy: from({ principals: ["cluster.local/ns/shop/sa/web"] }),
  },
  hosts: {
    server: { protocol: "HTTP" },
    policy: policy({
      action: "DENY",
      rules: [{ to: [{ operation: { hosts: ["shop.example.com", "shop.example.com:*"] } }] }],
    }),
  },
  proxied: {
    server: { protocol: "TCP" },
    policy: from({ remoteIpBlocks: ["203.0.113.0/24"] }),
    topology: { proxyProtocol: {} },
  },
  forwarded: {
    server: { protocol: "HTTP" },
    policy: from({ remoteIpBlocks: ["203.0.113.0/24"] }),
    topology: { numTrustedProxies: 1 },
  },
};
const names = Object.keys(gateways);

async function gatewayListener(
  { server, policy: own, topology }: Gateway,
  port: number,
  secrets: Secrets,
): Promise<Json> {
  const spec = {
    selector: { app: "edge" },
    servers: [
      { port: { number: port, name: "p", ...server }, hosts: ["*"], ...(server.tls ? { tls: server.tls } : {}) },
    ],
  };
  const route = [{ destination: { host: "web", port: { number: 80 } } }];
  const routes = { hosts: ["*"], gateways: ["edge"], http: [{ route }], tcp: [{ route }] };
  const { listeners, routes: configs } = await renderProxy({
    objects: [
      pod("edge", { proxy: "router" }),
      service("web", { portName: server.protocol === "TCP" || server.protocol === "TLS" ? "tcp" : "http" }),
      slice("web", [{ address: "10.0.0.1" }]),
      istio("Gateway", "edge", spec),
      istio("VirtualService", "web", routes),
      own,
    ],
    profile: "envoy",
    ...(topology ? { mesh: { defaultConfig: { gatewayTopology: topology } } } : {}),
  });
  const [listener] = [...listeners.values()].filter(({ address }) => address.socketAddress.portValue === port);
  const inlined = JSON.parse(JSON.stringify(listener), (_key, value) =>
    value?.rds ? { ...value, rds: undefined, routeConfig: configs.get(value.rds.routeConfigName) } : value,
  );
  return {
    ...withSecrets(inlined, secrets),
    name: `gateway ${port}`,
    address: { socketAddress: { address: ownAddress, portValue: port } },
  };
}

interface Secrets {
  readonly own: Credentials;
  readonly root: string;
}

describe.skipIf(lacks("envoy"))("gateways before a stock Envoy", () => {
  let envoy: RunningEnvoy;
  let identities: Identities;
  let app: Server;
  let raw: TcpServer;
  let seen: IncomingHttpHeaders = {};
  const ports = ownPorts(names.length);
  const portOf = (name: string): number => ports[names.indexOf(name)] ?? 0;

  beforeAll(async () => {
    identities = await createIdentities();
    const http = await startHttp((request, response) => {
      seen = request.headers;
      response.end("hello");
    });
    app = http.server;
    raw = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => socket.end("hello"));
    });
    await new Promise<void>((resolve) => raw.listen(0, "127.0.0.1", resolve));
    const address = raw.address();
    const rawPort = typeof address === "object" && address ? address.port : 0;
    const own = await identities.issue({ trustDomain: "cluster.local", namespace: "default", account: "edge" });
    const secrets = { own, root: identities.root };
    const listeners = await Promise.all(
      names.map((name) => gatewayListener(gateways[name] as Gateway, portOf(name), secrets)),
    );
    // TCP servers and HTTP servers have one destination each, told apart by the listener.
    const rawName = "outbound|80||raw";
    const text = listeners.map((listener, i) => {
      const protocol = gateways[names[i] ?? ""]?.server.protocol;
      const isRaw = protocol === "TCP" || protocol === "TLS";
      const json = JSON.stringify(listener);
      return JSON.parse(isRaw ? json.replaceAll("outbound|80||web.default.svc.cluster.local", rawName) : json);
    });
    envoy = await startEnvoy(text, [
      staticCluster("outbound|80||web.default.svc.cluster.local", http.port),
      staticCluster(rawName, rawPort),
    ]);
  });
  afterAll(async () => {
    await envoy?.close();
    app?.close();
    raw?.close();
  });

  const talk = (port: number, text: string, credentials?: Partial<Credentials>): Promise<string> =>
    new Promise((resolve) => {
      const place = { host: ownAddress, port };
      const socket = credentials
        ? connectTls({ ...place, ...credentials, rejectUnauthorized: false, ALPNProtocols: ["http/1.1"] })
        : connectTcp(place);
      let answer = "";
      const done = (): void => {
        resolve(answer);
        socket.destroy();
      };
      socket.on("data", (chunk) => {
        answer += chunk;
        if (answer.includes("hello") || /\r\n\r\n/.test(answer)) done();
      });
      socket.on("error", () => {});
      socket.on("end", done);
      socket.on("close", done);
      socket.setTimeout(10_000, done);
      socket.write(text);
    });
  const get = (
    name: string,
    headers: readonly string[] = [],
    credentials?: Credentials,
    tls = credentials !== undefined,
    host = "a",
  ): Promise<string> =>
    talk(
      portOf(name),
      ["GET / HTTP/1.1", `host: ${host}`, ...headers, "", ""].join("\r\n"),
      tls ? (credentials ?? {}) : undefined,
    );

  test("R09, R31: headers that only the mesh may set are taken from nobody outside", async () => {
    const forged = {
      "x-forwarded-client-cert": "By=x;URI=spiffe://cluster.local/ns/istio-system/sa/admin",
      "x-envoy-original-path": "/admin",
      "x-envoy-external-address": "10.0.0.1",
      "x-envoy-internal": "true",
      "x-envoy-decorator-operation": "forged",
      "x-envoy-upstream-rq-timeout-ms": "1",
      "x-envoy-upstream-rq-per-try-timeout-ms": "1",
      "x-envoy-expected-rq-timeout-ms": "1",
      "x-envoy-retry-on": "5xx",
      "x-envoy-max-retries": "1000000",
      "x-envoy-hedge-on-per-try-timeout": "true",
      "x-envoy-ip-tags": "forged",
      "x-envoy-force-trace": "true",
      "x-envoy-downstream-service-cluster": "forged",
      "x-envoy-downstream-service-node": "forged",
      "x-envoy-attempt-count": "7",
      "x-envoy-upstream-alt-stat-name": "forged",
      "x-envoy-peer-metadata": "Zm9yZ2Vk",
      "x-envoy-peer-metadata-id": "forged",
    };
    const answer = await get(
      "plain",
      Object.entries(forged).map(([name, value]) => `${name}: ${value}`),
    );
    expect(answer).toContain("200 OK");
    expect(Object.entries(forged).filter(([name, value]) => seen[name] === value)).toEqual([]);
  });

  test("R44: a principal is known where the gateway asks for a certificate, and nowhere else", async () => {
    const [good, bad] = [await identities.issue(web), await identities.issue(other)];
    expect(await get("mutual http", [], good)).toContain("200 OK");
    expect(await get("mutual http", [], bad)).toContain("403 Forbidden");
    expect(await get("plain with a principal")).toContain("403 Forbidden");
    // Shown or not, nobody looked at it.
    for (const shown of [good, undefined]) expect(await get("simple http", [], shown, true)).toContain("403 Forbidden");
    for (const name of ["own mutual http", "optional mutual http"]) {
      expect(await get(name, [], good), name).toContain("200 OK");
      expect(await get(name, [], bad), name).toContain("403 Forbidden");
    }
    expect(await get("own mutual http", [], undefined, true)).toBe("");
    expect(await get("optional mutual http", [], undefined, true)).toContain("403 Forbidden");
    expect(await talk(portOf("mutual tcp"), "a word to the server", good)).toBe("hello");
    expect(await talk(portOf("mutual tcp"), "a word to the server", bad)).toBe("");
  });

  test("R23: at a gateway a host that is denied with every port is so in any case and with any port", async () => {
    for (const host of ["shop.example.com", "SHOP.Example.com", "shop.example.com:80", "Shop.example.com:443"])
      expect(await get("hosts", [], undefined, false, host), host).toContain("403 Forbidden");
    // As Istio: a name that ends with a dot is another name.
    for (const host of ["other.example.com", "shop.example.com."])
      expect(await get("hosts", [], undefined, false, host), host).toContain("200 OK");
  });

  test("R16: on TCP the PROXY protocol says who is calling", async () => {
    const say = (client: string): Promise<string> =>
      talk(portOf("proxied"), `PROXY TCP4 ${client} 10.0.0.1 1234 80\r\na word to the server`);
    expect(await say("203.0.113.7")).toBe("hello");
    expect(await say("198.51.100.1")).toBe("");
  });

  test("the address that a trusted proxy added counts, and none that the client made up", async () => {
    expect(await get("forwarded", ["x-forwarded-for: 203.0.113.7"])).toContain("200 OK");
    expect(await get("forwarded", ["x-forwarded-for: 203.0.113.7, 198.51.100.1"])).toContain("403 Forbidden");
  });
});
