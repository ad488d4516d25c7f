import http2 from "node:http2";
import { connect } from "node:net";
import { networkInterfaces } from "node:os";
import { create, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePorts } from "../../test/free-ports.ts";
import { lacks } from "../../test/require.ts";
import { ClusterSchema } from "../gen/envoy/config/cluster/v3/cluster_pb.js";
import { ListenerSchema } from "../gen/envoy/config/listener/v3/listener_pb.js";
import { TcpProxySchema } from "../gen/envoy/extensions/filters/network/tcp_proxy/v3/tcp_proxy_pb.js";
import { types } from "../model/index.ts";
import { type AgentHarness, createAgentHarness, eventually, httpStatus, type Sent } from "./testing.ts";

const methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "get", "ADMIN"];
const orders = ["quitquitquit", "drain", "config_dump", "logging?level=debug", "drain_listeners", "healthcheck/fail"];

/** Ways to write `order` so that something behind may read it so, while the beginning looks like `base`. */
const spellings = (base: string, order: string): readonly string[] => [
  `/${order}`,
  `//${order}`,
  `${base}/../../${order}`,
  `${base}/%2e%2e/%2e%2e/${order}`,
  `${base}/.%2e/%2E./${order}`,
  `${base}/..%2f..%2f${order}`,
  `${base}%2f..%2f..%2f${order}`,
  `${base}/..%5c..%5c${order}`,
  `${base}\\..\\..\\${order}`,
  `${base}//..//..//${order}`,
  `${base}/./../../${order}`,
  `${base};/../../${order}`,
  `${base};x=y/../../../${order}`,
  `${base}#/../../${order}`,
  `${base}%3f/../../${order}`,
  `${base}%00/../../${order}`,
  `${base}/..;/..;/${order}`,
  `//x${base}/../../${order}`,
  `http://x/${order}`,
  `http://x${base}/../../${order}`,
  `http://x:80/../${order}`,
  `*`,
  order,
];

/** Other ways to write the path itself: exact means exact. */
const near = (base: string): readonly string[] => [
  `${base}/`,
  `/${base}`,
  `${base}/x`,
  `${base}x`,
  base.toUpperCase(),
  base.replace("/", "/./"),
  base.replace(/.$/, (last) => `%${last.charCodeAt(0).toString(16)}`),
];

describe.skipIf(lacks("envoy"))("ports that anyone may call", () => {
  let harness: AgentHarness;
  let ended: number | undefined;
  let relayed: { readonly admin: number; readonly status: number };
  let places: readonly { readonly name: string; readonly port: number; readonly base: string }[];
  beforeAll(async () => {
    harness = await createAgentHarness();
    const [toAdmin = 0, toStatus = 0] = await freePorts(2);
    harness.send(relayTo([toAdmin, harness.ports.admin], [toStatus, harness.ports.status]));
    relayed = { admin: toAdmin, status: toStatus };
    void harness.start().then((status) => {
      ended = status;
    });
    await harness.untilReady();
    places = [
      { name: "Envoy's metrics", port: harness.ports.stats, base: "/stats/prometheus" },
      { name: "readiness", port: harness.ports.ready, base: "/healthz/ready" },
    ];
  }, 300_000);
  afterAll(() => harness.close());

  /** Envoy cuts a fragment off before it looks: what is left is the path itself. */
  const isBase = (method: string, path: string, base: string): boolean =>
    method === "GET" && path.replace(/#.*/, "") === base;

  /** Nothing that was asked for came true: nobody ended, drains, or logs more. */
  async function unharmed(): Promise<void> {
    expect(ended).toBeUndefined();
    const info = JSON.parse((await httpStatus(harness.ports.admin, "/server_info")).body) as { state: string };
    expect(info.state).toBe("LIVE");
    const levels = (await httpStatus(harness.ports.admin, "/logging", "POST")).body;
    expect(levels).toMatch(/admin: warning/);
    expect((await httpStatus(harness.ports.status, "/healthz/ready")).status).toBe(200);
  }

  test("HTTP/1: GET of the exact path and nothing else, however it is written", async () => {
    for (const { port, base } of places) {
      const wrong: string[] = [];
      const asked: Promise<void>[] = [];
      const ask = (line: string, headers = ""): void => {
        const check = async (): Promise<void> => {
          const status = await rawStatus(port, `${line} HTTP/1.1\r\nHost: x\r\n${headers}Connection: close\r\n\r\n`);
          const [method = "", path = ""] = line.split(" ");
          if (status !== 0 && status < 400 && !isBase(method, path, base)) wrong.push(`${status}: ${line} ${headers}`);
        };
        asked.push(check());
      };
      for (const method of methods) {
        for (const path of near(base)) ask(`${method} ${path}`);
        for (const order of orders) for (const path of spellings(base, order)) ask(`${method} ${path}`);
        if (method !== "GET") ask(`${method} ${base}`);
        await Promise.all(asked.splice(0));
      }
      ask(`CONNECT x:80`);
      ask(`CONNECT ${base}`);
      ask(`CONNECT 127.0.0.1:${harness.ports.admin}`);
      ask(`GET ${base}/../../config_dump`, "Connection: Upgrade\r\nUpgrade: websocket\r\n");
      ask(`POST ${base}`, "X-HTTP-Method-Override: GET\r\nContent-Length: 0\r\n");
      ask(`GET /config_dump`, "X-Envoy-Original-Path: /stats/prometheus\r\nX-Original-URL: /stats/prometheus\r\n");
      await Promise.all(asked);
      expect(wrong).toEqual([]);
      // A second request inside the first one's body is a body.
      const smuggled = `POST /quitquitquit HTTP/1.1\r\nHost: x\r\n\r\n`;
      await rawStatus(
        port,
        `GET ${base} HTTP/1.1\r\nHost: x\r\nContent-Length: ${smuggled.length}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n${smuggled}`,
      );
      for (const query of ["", "?usedonly", "?filter=%5Eserver&x=/../../quitquitquit"])
        expect(await rawStatus(port, `GET ${base}${query} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)).toBe(200);
    }
    await unharmed();
  }, 300_000);

  test("HTTP/2: the same, and no extended CONNECT", async () => {
    for (const { port, base } of places) {
      const session = open(port);
      const wrong: string[] = [];
      const check = async (at: http2.ClientHttp2Session, headers: http2.OutgoingHttpHeaders): Promise<void> => {
        const { ":method": method = "", ":path": path = "" } = headers;
        const status = await http2Status(at, headers);
        if (status !== 0 && status < 400 && !isBase(String(method), String(path), base))
          wrong.push(`${status}: ${JSON.stringify(headers)}`);
      };
      const asked = methods.flatMap((method) =>
        [...near(base), ...orders.flatMap((order) => spellings(base, order)), ...(method === "GET" ? [] : [base])].map(
          (path) => ({ ":method": method, ":path": path }),
        ),
      );
      const connects = [
        { ":method": "CONNECT", ":authority": "127.0.0.1:80" },
        { ":method": "CONNECT", ":protocol": "websocket", ":path": base, ":scheme": "http" },
      ];
      for (const headers of asked) if (headers[":path"].startsWith("/")) await check(session, headers);
      // For these Envoy ends the whole session, after a while.
      const others = [...asked.filter((headers) => !headers[":path"].startsWith("/")), ...connects];
      await Promise.all(
        others.map(async (headers) => {
          const own = open(port);
          await check(own, headers);
          own.destroy();
        }),
      );
      expect(wrong).toEqual([]);
      expect(await http2Status(session, { ":method": "GET", ":path": base })).toBe(200);
      session.destroy();
    }
    await unharmed();
  }, 300_000);

  test("an Envoy that is led to its own admin or to its agent is refused there; processes of the Pod are not", async () => {
    const reached = (port: number, path: string, method: string) =>
      eventually(
        () => httpStatus(port, path, method),
        (answer) => answer.status !== 0,
      );
    for (const [path, method] of [
      ["/config_dump", "GET"],
      ["/quitquitquit", "POST"],
      ["/logging?level=debug", "POST"],
    ] as const)
      expect(await reached(relayed.admin, path, method)).toMatchObject({ status: 403 });
    for (const path of ["/quitquitquit", "/drain"])
      expect(await reached(relayed.status, path, "POST")).toMatchObject({ status: 403 });
    expect((await reached(relayed.status, "/healthz/ready", "GET")).status).toBe(200);
    await unharmed();
    expect((await httpStatus(harness.ports.admin, "/config_dump")).status).toBe(200);
  }, 300_000);

  test("an order from another address than loopback is refused", async () => {
    const outside = Object.values(networkInterfaces())
      .flatMap((list) => list ?? [])
      .find((entry) => !entry.internal && entry.family === "IPv4");
    if (!outside) return;
    const answer = await fetch(`http://${outside.address}:${harness.ports.status}/quitquitquit`, { method: "POST" });
    expect(answer.status).toBe(403);
    await unharmed();
  });
});

/** 0 where the connection ends without an answer. */
async function rawStatus(port: number, text: string): Promise<number> {
  const socket = connect(port, "127.0.0.1");
  const answered = Promise.withResolvers<string>();
  socket.setEncoding("latin1").once("data", answered.resolve);
  socket.on("error", () => {}).once("close", () => answered.resolve(""));
  socket.write(text, "latin1");
  const answer = await answered.promise;
  socket.destroy();
  return Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? 0);
}

function open(port: number): http2.ClientHttp2Session {
  return http2.connect(`http://127.0.0.1:${port}`).on("error", () => {});
}

function http2Status(session: http2.ClientHttp2Session, headers: http2.OutgoingHttpHeaders): Promise<number> {
  return new Promise((resolve) => {
    try {
      const stream = session.request({ ":scheme": "http", ":authority": "x", ...headers }, { endStream: true });
      stream.on("response", (answer) => {
        resolve(Number(answer[":status"] ?? 0));
        stream.resume();
      });
      stream.on("error", () => resolve(0));
      stream.on("close", () => resolve(0));
    } catch {
      resolve(0);
    }
  });
}

/** What a ServiceEntry with an endpoint on loopback, or a name that resolves to it, makes of an Envoy. */
function relayTo(...pairs: readonly (readonly [number, number])[]): Sent {
  const at = (port: number) => ({
    address: {
      case: "socketAddress" as const,
      value: { address: "127.0.0.1", portSpecifier: { case: "portValue" as const, value: port } },
    },
  });
  const clusters = pairs.map(([, to]) =>
    toBinary(
      ClusterSchema,
      create(ClusterSchema, {
        name: `to-${to}`,
        connectTimeout: { seconds: 1n },
        loadAssignment: {
          clusterName: `to-${to}`,
          endpoints: [{ lbEndpoints: [{ hostIdentifier: { case: "endpoint", value: { address: at(to) } } }] }],
        },
      }),
    ),
  );
  const listeners = pairs.map(([from, to]) =>
    toBinary(
      ListenerSchema,
      create(ListenerSchema, {
        name: `from-${from}`,
        address: at(from),
        filterChains: [
          {
            filters: [
              {
                name: "envoy.filters.network.tcp_proxy",
                configType: {
                  case: "typedConfig",
                  value: anyPack(
                    TcpProxySchema,
                    create(TcpProxySchema, {
                      statPrefix: "relay",
                      clusterSpecifier: { case: "cluster", value: `to-${to}` },
                    }),
                  ),
                },
              },
            ],
          },
        ],
      }),
    ),
  );
  return new Map([
    [types.cluster, clusters],
    [types.listener, listeners],
  ]);
}
