/** Malformed tokens, long paths and hosts in odd spellings before a real stock Envoy: refused, and it lives on. */
import type { Server } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createRandom } from "../random.ts";
import { lacks } from "../require.ts";
import { ownPorts, type RunningEnvoy, startEnvoy, startHttp, staticCluster } from "./envoy.ts";
import { createIdentities } from "./identity.ts";
import { type PolicyRequest, plainRequest } from "./request.ts";
import type { Scenario } from "./scenario.ts";
import { send } from "./send.ts";
import { createTokens, type Tokens } from "./tokens.ts";
import { workloadListener } from "./workload.ts";

const deny = (operation: object) => ({ action: "DENY", rules: [{ to: [{ operation }] }] });

const scenarios: readonly Scenario[] = [
  { name: "tokens", policies: [], tokens: "two issuers" },
  {
    name: "templates",
    policies: [deny({ paths: ["/{*}/{*}/{*}/{*}/{*}/{*}/{*}/{*}/{**}/z", "/a/{**}/b/c", "/{**}/secret"] })],
  },
  { name: "hosts", policies: [deny({ hosts: ["shop.example.com"] })] },
  { name: "no keys", policies: [], tokens: "one issuer" },
];
const [tokenPort = 0, templatePort = 0, hostPort = 0, noKeysPort = 0] = ownPorts(scenarios.length);

describe.skipIf(lacks("envoy"))("hostile requests before a stock Envoy", () => {
  let envoy: RunningEnvoy;
  let tokens: Tokens;
  let app: Server;

  beforeAll(async () => {
    const identities = await createIdentities();
    tokens = await createTokens();
    const http = await startHttp((_request, response) => response.end());
    app = http.server;
    const own = await identities.issue({ trustDomain: "cluster.local", namespace: "default", account: "app" });
    const secrets = { own, root: identities.root };
    const listeners = await Promise.all(
      scenarios.map((scenario, i) =>
        // What a rule gets whose keys could not be fetched is what one gets whose keys cannot be read.
        workloadListener(scenario, ownPorts(i + 1).at(-1) ?? 0, i === 3 ? ["nonsense", ""] : tokens.jwks, secrets),
      ),
    );
    const names = ["InboundPassthroughCluster", ...ownPorts(scenarios.length).map((port) => `inbound|${port}||`)];
    envoy = await startEnvoy(
      listeners,
      names.map((name) => staticCluster(name, http.port)),
    );
  });
  afterAll(async () => {
    await envoy?.close();
    app?.close();
  });

  const verdict = async (change: Partial<PolicyRequest>, port: number, token?: string): Promise<string> =>
    (await send(plainRequest(change), { port, token, credentials: undefined })).verdict;

  test("R02: two hundred malformed tokens are refused, and Envoy lives on", { timeout: 300_000 }, async () => {
    const random = createRandom(2019);
    const good = tokens.texts.get("alice") ?? "";
    expect(await verdict({}, tokenPort, good)).toBe("passed");
    const bad = Array.from({ length: 200 }, () => malformed(good, random.whole(8), random.whole(good.length)));
    for (const token of bad)
      expect(["unauthenticated", "malformed"], token).toContain(await verdict({}, tokenPort, token));
    expect(envoy.alive()).toBe(true);
    expect(await verdict({}, tokenPort, good)).toBe("passed");
  });

  test("R37: without keys no token is accepted, and requests without one are not held up", async () => {
    for (const kind of ["alice", "bob", "unsigned"] as const)
      expect(await verdict({}, noKeysPort, tokens.texts.get(kind)), kind).toBe("unauthenticated");
    expect(await verdict({}, noKeysPort)).toBe("passed");
  });

  // A match that goes back and forth over 25,000 segments never ends, so that a verdict at all is the proof.
  test("R03, R33: a long path gets its verdict, whatever the templates", async () => {
    const long = `/a${"/b".repeat(25_000)}`;
    for (const target of [long, `${long}/c`, `${long}/z`, `${long}/secret`, `/${"a".repeat(50_000)}`])
      expect(["passed", "forbidden"]).toContain(await verdict({ target }, templatePort));
    expect(await verdict({ target: `${long}/secret` }, templatePort)).toBe("forbidden");
  });

  test("R23: a host is the same in any case; with a port it is another, as Istio documents", async () => {
    for (const host of ["shop.example.com", "SHOP.EXAMPLE.COM", "Shop.Example.Com"])
      expect(await verdict({ host }, hostPort), host).toBe("forbidden");
    // A rule that means every port says so: `shop.example.com` and `shop.example.com:*`.
    expect(await verdict({ host: "shop.example.com:80" }, hostPort)).toBe("passed");
  });
});

/** One of several ways to spoil a good token. */
function malformed(good: string, way: number, at: number): string {
  const [head = "", payload = "", signature = ""] = good.split(".");
  const encode = (text: string): string => Buffer.from(text).toString("base64url");
  const ways: readonly string[] = [
    good.slice(0, at),
    `${good.slice(0, at)}%00${good.slice(at)}`,
    `${encode("null")}.${payload}.${signature}`,
    `${head}.${encode("null")}.${signature}`,
    `${head}.${encode("[".repeat(200))}.${signature}`,
    `${encode('{"alg":"HS256"}')}.${payload}.${signature}`,
    `${head}.${payload}.${"A".repeat(at * 20)}`,
    ".".repeat(at + 1),
  ];
  const spoilt = ways[way] ?? "";
  return spoilt === "" ? "." : spoilt;
}
