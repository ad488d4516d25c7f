/** Connections through a real stock Envoy: every action on raw TCP, for each client and address. */
import { createServer, type Server } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { lacks } from "../require.ts";
import { ownPorts, type RunningEnvoy, startEnvoy, staticCluster } from "./envoy.ts";
import { judgeTcp } from "./evaluate-tcp.ts";
import { createIdentities, type Identities } from "./identity.ts";
import { type Peer, type PolicyRequest, peers, sources } from "./request.ts";
import type { Scenario, Spec } from "./scenario.ts";
import { say } from "./send.ts";
import { workloadListener } from "./workload.ts";

const rule = (action: string, ...rules: readonly Spec[]): Spec => ({ action, rules });
const from = (source: Spec): Spec => ({ from: [{ source }] });
const to = (operation: Spec): Spec => ({ to: [{ operation }] });

/** R14: each form of a principal, with each action. */
const principals = ["cluster.local/ns/shop/sa/web", "cluster.local/ns/shop*", "*/sa/web", "*/batch.job", "*"];

const scenarios: readonly Scenario[] = [
  { name: "nothing said", policies: [] },
  { name: "allow nothing", policies: [{}] },
  { name: "deny all", policies: [rule("DENY", {})] },
  { name: "audit all", policies: [rule("AUDIT", {})] },
  { name: "a dry run", policies: [{ ...rule("DENY", {}), dryRun: true }] },
  { name: "a provider that there is not", policies: [{ ...rule("CUSTOM", {}), provider: { name: "none" } }] },
  ...principals.flatMap((principal): readonly Scenario[] => [
    { name: `allow ${principal}`, policies: [rule("ALLOW", from({ principals: [principal] }))] },
    { name: `deny ${principal}`, policies: [rule("DENY", from({ principals: [principal] }))] },
    { name: `deny but ${principal}`, policies: [rule("DENY", from({ notPrincipals: [principal] }))] },
  ]),
  { name: "allow namespaces", policies: [rule("ALLOW", from({ namespaces: ["shop"] }))] },
  { name: "allow but namespaces", policies: [rule("ALLOW", from({ notNamespaces: ["shop"] }))] },
  { name: "deny addresses", policies: [rule("DENY", from({ ipBlocks: ["127.0.0.0/24"] }))] },
  { name: "allow remote addresses", policies: [rule("ALLOW", from({ remoteIpBlocks: ["127.0.0.2"] }))] },
  { name: "deny own port", policies: [rule("DENY", to({ ports: ["PORT"] }))] },
  { name: "allow other port", policies: [rule("ALLOW", to({ ports: ["1"] }))] },
  { name: "deny a method", policies: [rule("DENY", to({ methods: ["GET"] }))] },
  {
    name: "deny a path to some",
    policies: [rule("DENY", { ...from({ namespaces: ["shop"] }), ...to({ paths: ["/a"] }) })],
  },
  { name: "deny a header", policies: [rule("DENY", { when: [{ key: "request.headers[x]", values: ["a"] }] })] },
  { name: "allow a method", policies: [rule("ALLOW", to({ methods: ["GET"] }))] },
  { name: "allow but a path", policies: [rule("ALLOW", to({ notPaths: ["/a"] }))] },
  {
    name: "allow a token",
    policies: [rule("ALLOW", from({ requestPrincipals: ["*"] }), from({ namespaces: ["tools"] }))],
  },
];

const clients: readonly (Peer | undefined)[] = [undefined, ...peers];
const connections = clients.flatMap((peer) =>
  sources.map(
    (source): PolicyRequest => ({
      method: "",
      target: "/",
      host: "",
      headers: [],
      token: "none",
      peer,
      source,
      forwardedFor: undefined,
    }),
  ),
);

describe.skipIf(lacks("envoy"))("policies on TCP before a stock Envoy", () => {
  let envoy: RunningEnvoy;
  let identities: Identities;
  const ports = ownPorts(scenarios.length);
  let app: Server;

  beforeAll(async () => {
    identities = await createIdentities();
    app = createServer((socket) => {
      socket.on("error", () => {});
      // After the client's word, so that nothing unread makes the end of the connection a reset.
      socket.once("data", () => socket.end("hello"));
    });
    await new Promise<void>((resolve) => app.listen(0, "127.0.0.1", resolve));
    const address = app.address();
    const appPort = typeof address === "object" && address ? address.port : 0;
    const own = await identities.issue({ trustDomain: "cluster.local", namespace: "default", account: "app" });
    const listeners = await Promise.all(
      scenarios.map((scenario, i) =>
        workloadListener(scenario, ports[i] ?? 0, ["", ""], { own, root: identities.root }, "tcp"),
      ),
    );
    const names = ["InboundPassthroughCluster", "BlackHoleCluster", ...ports.map((port) => `inbound|${port}||`)];
    envoy = await startEnvoy(
      listeners,
      names.map((name) => staticCluster(name, appPort)),
    );
  });
  afterAll(async () => {
    await envoy?.close();
    app?.close();
  });

  test.each(scenarios.map((scenario, index) => ({ name: scenario.name, scenario, index })))(
    "$name",
    async ({ scenario, index }) => {
      const port = ports[index] ?? 0;
      const wrong: string[] = [];
      for (const connection of connections) {
        const found = await say(connection, port, connection.peer && (await identities.issue(connection.peer)));
        const expected = judgeTcp(scenario, connection, port);
        if (found !== expected)
          wrong.push(
            `${JSON.stringify(connection.peer)} from ${connection.source}: ${expected} expected, ${found} found`,
          );
      }
      expect(wrong).toEqual([]);
    },
  );
});
