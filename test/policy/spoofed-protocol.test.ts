/** Clients that pretend to speak another protocol than they do, before a real stock Envoy: no policy is got around. */
import type { Server } from "node:http";
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { lacks } from "../require.ts";
import { ownAddress, ownPorts, type RunningEnvoy, startEnvoy, startHttp, staticCluster } from "./envoy.ts";
import { type Credentials, createIdentities } from "./identity.ts";
import type { Scenario } from "./scenario.ts";
import { createTokens } from "./tokens.ts";
import { workloadListener } from "./workload.ts";

const rule = (action: string, rule: object) => ({ action, rules: [rule] });
const path = (...paths: readonly string[]) => ({ to: [{ operation: { paths } }] });

/** Each forbids the request that is sent. */
const forbidding: readonly Omit<Scenario, "name" | "port">[] = [
  { policies: [rule("DENY", path("/admin"))] },
  { policies: [rule("ALLOW", path("/public"))] },
  { policies: [rule("DENY", { from: [{ source: { notRequestPrincipals: ["*"] } }] })], tokens: "one issuer" },
  { policies: [rule("ALLOW", { when: [{ key: "request.headers[x-role]", values: ["admin"] }] })] },
  { policies: [rule("DENY", { from: [{ source: { namespaces: ["shop"] } }], ...path("/admin") })], mtls: "STRICT" },
];
const scenarios: readonly Scenario[] = (["declared", "sniffed"] as const).flatMap((port) =>
  forbidding.map((one, i): Scenario => ({ ...one, port, name: `${port} ${i}` })),
);
const open: Scenario = { name: "open", policies: [], port: "sniffed" };
const ports = ownPorts(scenarios.length + 1);

const protocols: readonly (readonly string[])[] = [
  [],
  ["istio"],
  ["istio-peer-exchange", "istio"],
  ["istio-peer-exchange"],
  ["istio-http/1.0"],
  ["istio-http/1.1", "istio"],
  ["istio-h2"],
  ["h2"],
  ["http/1.1"],
  ["h2", "http/1.1"],
  ["made-up"],
];
/** The application takes all of these for a request; who only looks may not. */
const texts = [
  "GET /admin HTTP/1.1\r\nhost: a\r\n\r\n",
  "\r\n\r\nGET /admin HTTP/1.1\r\nhost: a\r\n\r\n",
  "GET /admin HTTP/1.0\r\n\r\n",
  "GET http://a/admin HTTP/1.1\r\nhost: a\r\n\r\n",
];

describe.skipIf(lacks("envoy"))("spoofed protocols before a stock Envoy", () => {
  let envoy: RunningEnvoy;
  let app: Server;
  let client: Credentials;
  let reached: string[];

  beforeAll(async () => {
    const identities = await createIdentities();
    client = await identities.issue({ trustDomain: "cluster.local", namespace: "shop", account: "web" });
    const tokens = await createTokens();
    reached = [];
    const http = await startHttp((request, response) => {
      reached.push(request.url ?? "");
      response.end("hello");
    });
    app = http.server;
    const own = await identities.issue({ trustDomain: "cluster.local", namespace: "default", account: "app" });
    const secrets = { own, root: identities.root };
    const listeners = await Promise.all(
      [...scenarios, open].map((scenario, i) => workloadListener(scenario, ports[i] ?? 0, tokens.jwks, secrets)),
    );
    const names = ["InboundPassthroughCluster", "BlackHoleCluster", ...ports.map((port) => `inbound|${port}||`)];
    envoy = await startEnvoy(
      listeners,
      names.map((name) => staticCluster(name, http.port)),
    );
  });
  afterAll(async () => {
    await envoy?.close();
    app?.close();
  });

  /** In pieces, so that nobody can look at the whole beginning at once. */
  const tell = (port: number, text: string, tls: object | undefined, patienceMs = 2_000): Promise<void> =>
    new Promise((resolve) => {
      const place = { host: ownAddress, port };
      const socket: Socket = tls ? connectTls({ ...place, ...tls, rejectUnauthorized: false }) : connectTcp(place);
      socket.on("error", () => {}).on("close", () => resolve());
      socket.once("data", () => socket.destroy()).once("end", () => socket.destroy());
      socket.setNoDelay(true);
      socket.write(text.slice(0, 2), "latin1", () => setImmediate(() => socket.write(text.slice(2), "latin1")));
      socket.setTimeout(patienceMs, () => socket.destroy());
    });

  test("what is allowed comes through, so that the refusals below mean something", async () => {
    for (const tls of [
      undefined,
      { ...client, ALPNProtocols: ["istio-http/1.1"] },
      { ...client, ALPNProtocols: ["istio"] },
    ]) {
      reached.length = 0;
      await tell(ports.at(-1) ?? 0, texts[0] ?? "", tls, 120_000);
      expect(reached).toEqual(["/admin"]);
    }
  });

  test("no protocol that a client names, and no way to begin, leads past a policy", { timeout: 300_000 }, async () => {
    const wrong: string[] = [];
    for (const [i, scenario] of scenarios.entries()) {
      const ways = [
        undefined,
        ...protocols.flatMap((ALPNProtocols) => [{ ALPNProtocols }, { ALPNProtocols, ...client }]),
      ];
      for (const text of texts) {
        reached.length = 0;
        await Promise.all(ways.map((tls) => tell(ports[i] ?? 0, text, tls)));
        if (reached.length > 0) wrong.push(`${scenario.name}: ${JSON.stringify(text)}: ${reached.length} times`);
      }
    }
    expect(wrong).toEqual([]);
    expect(envoy.alive()).toBe(true);
  });
});
