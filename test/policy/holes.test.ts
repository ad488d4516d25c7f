/** Holes of the past, tried one by one on a real stock Envoy: what once got past a policy does not. */
import type { Server } from "node:http";
import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Authorization, CheckResponseSchema } from "../../src/gen/envoy/service/auth/v3/external_auth_pb.js";
import { silentLogger } from "../../src/lib/index.ts";
import { createRpcServer, protoMethod, RpcError, type RpcServer, status, unary } from "../../src/rpc/index.ts";
import { lacks } from "../require.ts";
import { ownPorts, type RunningEnvoy, startEnvoy, startHttp, staticCluster } from "./envoy.ts";
import { createIdentities, type Identities } from "./identity.ts";
import { type Peer, type PolicyRequest, plainRequest, type TokenKind } from "./request.ts";
import type { Scenario, Spec } from "./scenario.ts";
import { say, send } from "./send.ts";
import { createTokens, type Tokens } from "./tokens.ts";
import { gateCluster, grpcGateCluster, workloadListener } from "./workload.ts";

const deny = (rule: Spec): Spec => ({ action: "DENY", rules: [rule] });
const allow = (rule: Spec): Spec => ({ action: "ALLOW", rules: [rule] });
const from = (source: Spec): Spec => ({ from: [{ source }] });
const to = (operation: Spec): Spec => ({ to: [{ operation }] });
const role = (...values: readonly string[]): Spec => ({ when: [{ key: "request.headers[x-role]", values }] });
const custom = (name: string): Spec => ({ action: "CUSTOM", provider: { name }, rules: [{}] });

/** Disguises of a path that each mode of normalisation sees through, beside those of the modes before it. */
const disguises = {
  NONE: ["/admin", "/admin?x", "/admin#x", "/admin#/../public", "/admin?#x"],
  BASE: [
    "/./admin",
    "/x/../admin",
    "/x/%2e%2e/admin",
    "/x/.%2E/admin",
    "/%61dmin",
    "/adm%69n",
    "\\admin",
    "/x\\..\\admin",
  ],
  MERGE_SLASHES: ["//admin", "///admin", "/.//admin", "\\/admin", "/x/..//admin"],
  DECODE_AND_MERGE_SLASHES: ["/%2Fadmin", "/%2fadmin", "/x%2F..%2Fadmin", "/x%5C..%5Cadmin", "/%5cadmin", "%2Fadmin"],
} as const;
type Mode = keyof typeof disguises;
const modes = Object.keys(disguises) as readonly Mode[];

const hidden = (normalization: Mode) => ({ policies: [deny(to({ paths: ["/admin"] }))], normalization });

const scenarios = {
  NONE: hidden("NONE"),
  BASE: hidden("BASE"),
  MERGE_SLASHES: hidden("MERGE_SLASHES"),
  DECODE_AND_MERGE_SLASHES: hidden("DECODE_AND_MERGE_SLASHES"),
  "token for a path": { policies: [deny({ ...from({ notRequestPrincipals: ["*"] }), ...to({ paths: ["/admin"] }) })] },
  "deny a prefix": { policies: [deny(to({ paths: ["/admin*"] }))] },
  "allow another path": { policies: [allow(to({ paths: ["/public"] }))] },
  "deny a role": { policies: [deny(role("admin"))] },
  "deny a role by its end": { policies: [deny(role("*admin"))] },
  "deny but a role": { policies: [deny({ when: [{ key: "request.headers[x-role]", notValues: ["guest"] }] })] },
  "any token": { policies: [] },
  "some token": { policies: [allow(from({ requestPrincipals: ["*"] }))] },
  "allow but principals": { policies: [allow(from({ notPrincipals: ["cluster.local/ns/tools/sa/job"] }))] },
  "allow but namespaces": { policies: [allow(from({ notNamespaces: ["tools"] }))] },
  "allow but namespaces, STRICT": { policies: [allow(from({ notNamespaces: ["tools"] }))], mtls: "STRICT" },
  "allow but namespaces, of somebody": {
    policies: [allow(from({ notNamespaces: ["tools"], principals: ["*"] }))],
  },
  "deny namespaces": { policies: [deny(from({ namespaces: ["tools"] }))] },
  "deny namespaces and nobody": {
    policies: [{ action: "DENY", rules: [from({ namespaces: ["tools"] }), from({ notPrincipals: ["*"] })] }],
  },
  "HTTP gate": { policies: [custom("gate")] },
  "gRPC gate": { policies: [custom("grpc-gate")] },
  "gRPC gate, TCP": { policies: [custom("grpc-gate")] },
  "HTTP gate, TCP": { policies: [custom("gate")] },
} satisfies Readonly<Record<string, Omit<Scenario, "name">>>;
type Name = keyof typeof scenarios;
const names = Object.keys(scenarios) as readonly Name[];
const tokensOf = new Set<Name>(["token for a path", "any token", "some token"]);
const ports = ownPorts(names.length);

const job: Peer = { trustDomain: "cluster.local", namespace: "tools", account: "job" };
const web: Peer = { trustDomain: "cluster.local", namespace: "shop", account: "web" };

describe.skipIf(lacks("envoy"))("holes of the past before a stock Envoy", () => {
  let envoy: RunningEnvoy;
  let identities: Identities;
  let tokens: Tokens;
  let gateFails = false;
  const servers: Server[] = [];
  let grpcGate: RpcServer;

  beforeAll(async () => {
    [identities, tokens] = await Promise.all([createIdentities(), createTokens()]);
    const app = await startHttp((_request, response) => response.end());
    // What is no request gets what a server of words would say.
    app.server.on("clientError", (_error, socket) => socket.end("hello"));
    const gate = await startHttp((request, response) => {
      if (gateFails) request.socket.destroy();
      else response.writeHead(request.headers["x-pass"] === "yes" ? 200 : 403).end();
    });
    servers.push(app.server, gate.server);
    grpcGate = createRpcServer({
      routes: [
        unary(protoMethod(Authorization.method.check), async ({ attributes }) => {
          if (gateFails) throw new RpcError(status.internal, "out of order");
          const passes =
            attributes?.request?.http?.headers["x-pass"] === "yes" || attributes?.source?.principal.endsWith("/sa/web");
          return create(CheckResponseSchema, { status: { code: passes ? 0 : status.permissionDenied } });
        }),
      ],
      log: silentLogger,
    });
    const grpcPort = (await grpcGate.listen({ host: "127.0.0.1", port: 0 })).port;
    const own = await identities.issue({ trustDomain: "cluster.local", namespace: "default", account: "app" });
    const listeners = await Promise.all(
      names.map((name, i) => {
        const scenario: Scenario = {
          name,
          ...scenarios[name],
          ...(tokensOf.has(name) ? { tokens: "one issuer" } : {}),
        };
        const protocol = name.endsWith("TCP") ? "tcp" : "http";
        return workloadListener(scenario, ports[i] ?? 0, tokens.jwks, { own, root: identities.root }, protocol);
      }),
    );
    const inbound = ["InboundPassthroughCluster", "BlackHoleCluster", ...ports.map((port) => `inbound|${port}||`)];
    envoy = await startEnvoy(listeners, [
      ...inbound.map((name) => staticCluster(name, app.port)),
      staticCluster(gateCluster, gate.port),
      { ...staticCluster(grpcGateCluster, grpcPort), http2ProtocolOptions: {} },
    ]);
  });
  afterAll(async () => {
    await envoy?.close();
    await grpcGate?.close();
    for (const server of servers) server.close();
  });

  const verdict = async (name: Name, change: Partial<PolicyRequest> = {}): Promise<string> => {
    const request = plainRequest(change);
    const credentials = request.peer && (await identities.issue(request.peer));
    const port = ports[names.indexOf(name)] ?? 0;
    return (await send(request, { port, token: tokens.texts.get(request.token), credentials })).verdict;
  };

  test("R01: on TCP, too, an external authority is asked, and without an answer nobody gets in", async () => {
    const knock = async (name: Name, peer?: Peer): Promise<string> =>
      say(plainRequest({ peer }), ports[names.indexOf(name)] ?? 0, peer && (await identities.issue(peer)));
    expect(await knock("gRPC gate, TCP", web)).toBe("passed");
    expect(await knock("gRPC gate, TCP", job)).toBe("refused");
    expect(await knock("gRPC gate, TCP")).toBe("refused");
    // As istiod: one that is asked over HTTP is not asked about what is no request, and its policy says nothing here.
    expect(await knock("HTTP gate, TCP", web)).toBe("passed");
    gateFails = true;
    try {
      expect(await knock("gRPC gate, TCP", web)).toBe("refused");
    } finally {
      gateFails = false;
    }
  });

  test.each(["", "?x", "?", "#x", "%23x", ";x"])("R08: a path with %j after it is no other path", async (end) => {
    const target = `/admin${end}`;
    // To a server these two name something else; the exact path is not what they are denied by.
    const exact = end === "%23x" || end === ";x" ? "passed" : "forbidden";
    expect(await verdict("token for a path", { target })).toBe(exact);
    expect(await verdict("token for a path", { target, token: "alice" })).toBe("passed");
    expect(await verdict("token for a path", { target, token: "expired" })).toBe("unauthenticated");
    expect(await verdict("deny a prefix", { target })).toBe("forbidden");
    expect(await verdict("allow another path", { target })).toBe("forbidden");
  });

  test.each(modes.map((mode, i) => [mode, modes.slice(0, i + 1)] as const))(
    "R20: with %s a path in disguise is what it is behind it",
    async (mode, seenThrough) => {
      const found = seenThrough.flatMap((one) => disguises[one]);
      for (const target of found) expect(["forbidden", "malformed"], target).toContain(await verdict(mode, { target }));
      expect(await verdict(mode, { target: "/admins" })).toBe("passed");
      expect(await verdict(mode, { target: "/x/admin" })).toBe("passed");
    },
  );

  test.each<[string, PolicyRequest["headers"]]>([
    [
      "first",
      [
        ["x-role", "admin"],
        ["x-role", "guest"],
      ],
    ],
    [
      "last",
      [
        ["x-role", "guest"],
        ["x-role", "admin"],
      ],
    ],
    [
      "in the middle",
      [
        ["x-role", "guest"],
        ["X-Role", "admin"],
        ["x-role", "guest"],
      ],
    ],
    [
      "after an empty one",
      [
        ["x-role", ""],
        ["x-role", "admin"],
      ],
    ],
    [
      "before an empty one",
      [
        ["x-role", "admin"],
        ["x-role", ""],
      ],
    ],
    ["in another case of the name", [["X-ROLE", "admin"]]],
  ])("R15: of a header that is repeated, the value that is denied counts: %s", async (_where, headers) => {
    expect(await verdict("deny a role", { headers })).toBe("forbidden");
    expect(await verdict("deny a role by its end", { headers })).toBe("forbidden");
  });

  test("R15: a list in one line is one value, as Istio documents; its end can be denied", async () => {
    const headers = [["x-role", "guest,admin"]] as const;
    expect(await verdict("deny a role", { headers })).toBe("passed");
    expect(await verdict("deny a role by its end", { headers })).toBe("forbidden");
    expect(await verdict("deny but a role", { headers })).toBe("forbidden");
    expect(await verdict("deny but a role", { headers: [["x-role", "guest"]] })).toBe("passed");
  });

  test("R17: a token of an issuer that nobody listed is refused, and where a token is needed none is not enough", async () => {
    const refused: readonly TokenKind[] = ["wrong-issuer", "second-issuer", "wrong-key", "unsigned"];
    for (const token of refused)
      for (const name of ["any token", "some token"] as const)
        expect(await verdict(name, { token }), `${token}, ${name}`).toBe("unauthenticated");
    expect(await verdict("any token")).toBe("passed");
    expect(await verdict("some token")).toBe("forbidden");
    expect(await verdict("some token", { token: "alice" })).toBe("passed");
  });

  describe("R19: a client without a certificate is nobody", () => {
    // Istio's verdicts, of which `fairlead analyze` warns with FLD0005: who is nobody is not who is excluded, or denied.
    test.each<[Name, plaintext: string, tools: string]>([
      ["allow but principals", "passed", "forbidden"],
      ["allow but namespaces", "passed", "forbidden"],
      ["deny namespaces", "passed", "forbidden"],
      ["allow but namespaces, STRICT", "refused", "forbidden"],
      ["allow but namespaces, of somebody", "forbidden", "forbidden"],
      ["deny namespaces and nobody", "forbidden", "forbidden"],
    ])("%s: %s without, %s for whom it is meant", async (name, plaintext, tools) => {
      expect(await verdict(name)).toBe(plaintext);
      expect(await verdict(name, { peer: job })).toBe(tools);
      expect(await verdict(name, { peer: web })).toBe("passed");
    });
  });

  test.each(["HTTP gate", "gRPC gate"] as const)("R31: bytes that are no text do not get past the %s", async (name) => {
    expect(await verdict(name, { headers: [["x-pass", "yes"]] })).toBe("passed");
    for (const bytes of ["\xff\xfe", "\xc3\x28", "yes\xff", "\x80", "\xed\xa0\x80"]) {
      expect(await verdict(name, { headers: [["x-pass", bytes]] }), "as the answer").toBe("forbidden");
      expect(await verdict(name, { headers: [["x-other", bytes]] }), "beside it").toBe("forbidden");
    }
    gateFails = true;
    try {
      expect(await verdict(name, { headers: [["x-pass", "yes"]] })).toBe("forbidden");
      expect(
        await verdict(name, {
          headers: [
            ["x-pass", "yes"],
            ["x-other", "\xff"],
          ],
        }),
      ).toBe("forbidden");
    } finally {
      gateFails = false;
    }
  });
});
