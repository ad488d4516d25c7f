/** Who a client is, before Envoy has the means to know it and after they have changed: nobody slips through in between. */
import type { Server } from "node:http";
import { connect as connectTcp, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from "node:tls";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Json } from "../render/offline.ts";
import { lacks } from "../require.ts";
import { ownAddress, ownPorts, startHttp, staticCluster } from "./envoy.ts";
import { type Credentials, createIdentities, type Identities } from "./identity.ts";
import { type LiveEnvoy, startLiveEnvoy } from "./live-envoy.ts";
import type { Peer } from "./request.ts";
import type { Scenario } from "./scenario.ts";
import { workloadListener } from "./workload.ts";

const [port = 0] = ownPorts(1);
const web: Peer = { trustDomain: "cluster.local", namespace: "shop", account: "web" };
const own: Peer = { trustDomain: "cluster.local", namespace: "default", account: "app" };
const only = (account: string) => ({
  action: "ALLOW",
  rules: [{ from: [{ source: { principals: [`cluster.local/ns/shop/sa/${account}`] } }] }],
});

const listenerOf = (change: Partial<Scenario> = {}): Promise<Json> =>
  workloadListener({ name: "app", policies: [], ...change }, port, ["", ""], undefined);

interface Answer {
  /** 0: no answer. */
  readonly status: number;
  readonly reused: boolean;
  readonly session: Buffer | undefined;
}

const get = "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";

function ask(socket: Socket): Promise<Answer> {
  return new Promise((resolve) => {
    let [text, session]: [string, Buffer | undefined] = ["", undefined];
    const done = (): void => {
      const reused = "isSessionReused" in socket && (socket as TLSSocket).isSessionReused();
      resolve({ status: Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0), reused, session });
      socket.destroy();
    };
    socket.on("session", (ticket: Buffer) => {
      session = ticket;
    });
    socket.on("data", (chunk) => {
      text += chunk;
      if (text.includes("\r\n\r\n")) done();
    });
    socket.on("error", () => {});
    socket.on("close", done);
    socket.setTimeout(60_000, done);
    socket.write(get);
  });
}

const plaintext = (): Promise<Answer> => ask(connectTcp({ host: ownAddress, port }));
const mutual = (credentials: Partial<Credentials>, more: ConnectionOptions = {}): Promise<Answer> =>
  ask(
    connectTls({
      host: ownAddress,
      port,
      ...credentials,
      // The server is known by its SPIFFE id only; who the client is, is what is tried here.
      rejectUnauthorized: false,
      ALPNProtocols: ["istio-http/1.1", "istio"],
      ...more,
    }),
  );

describe.skipIf(lacks("envoy"))("identity before a stock Envoy", () => {
  let envoy: LiveEnvoy;
  let identities: Identities;
  let app: Server;

  const giveCertificate = async (): Promise<void> => {
    const { cert, key } = await identities.issue(own);
    envoy.secret("default", { type: "certificate", chain: cert, key });
  };
  const giveRoots = (...of: readonly Identities[]): void =>
    envoy.secret("ROOTCA", { type: "roots", pem: of.map(({ root }) => root).join("\n") });
  const active = (): Promise<void> => envoy.counted("listener_manager.total_listeners_active", (value) => value === 1);
  const statusOf = async (answer: Promise<Answer>): Promise<number> => (await answer).status;

  beforeEach(async () => {
    identities = await createIdentities();
    const http = await startHttp((_request, response) => response.end("hello"));
    app = http.server;
    const names = ["InboundPassthroughCluster", "BlackHoleCluster", `inbound|${port}||`];
    envoy = await startLiveEnvoy(names.map((name) => staticCluster(name, http.port)));
  });
  afterEach(async () => {
    await envoy?.close();
    app?.close();
  });

  test("R10: while secrets are on their way nobody gets in, with or without a certificate", async () => {
    const stranger = await (await createIdentities()).issue(web);
    const friend = await identities.issue(web);
    const tries = (): Promise<readonly number[]> =>
      Promise.all([plaintext(), mutual({}), mutual(stranger), mutual(friend)].map(statusOf));
    await envoy.serve(await listenerOf({ mtls: "STRICT" }));
    await envoy.counted("listener_manager.total_listeners_warming", (value) => value === 1);
    expect(await tries()).toEqual([0, 0, 0, 0]);
    await giveCertificate();
    await envoy.counted("sds.default.update_success", (value) => value > 0);
    // A certificate to show, and no root to check others with.
    expect(await tries()).toEqual([0, 0, 0, 0]);
    giveRoots(identities);
    await active();
    expect(await tries()).toEqual([0, 0, 0, 200]);
  });

  test("R10: Envoy waits without end for the workload's own secrets", async () => {
    const waits: string[] = [];
    JSON.stringify(await listenerOf(), (_key, value) => {
      if (value?.sdsConfig && ["default", "ROOTCA"].includes(value.name))
        waits.push(`${value.name} ${value.sdsConfig.initialFetchTimeout}`);
      return value;
    });
    expect([...new Set(waits)].sort()).toEqual(["ROOTCA 0s", "default 0s"]);
  });

  test.each(["declared", "sniffed"] as const)(
    "R10: a client that speaks TLS 1.3 only is looked at like any other, on a %s port",
    async (kind) => {
      await giveCertificate();
      giveRoots(identities);
      await envoy.serve(await listenerOf({ policies: [only("web")], port: kind }));
      await active();
      const stranger = await (await createIdentities()).issue(web);
      const friend = await identities.issue(web);
      const other = await identities.issue({ ...web, account: "other" });
      for (const version of ["TLSv1.3", "TLSv1.2"] as const) {
        const speaks = { minVersion: version, maxVersion: version };
        const answers = [friend, other, stranger, {}].map((credentials) => statusOf(mutual(credentials, speaks)));
        expect([version, ...(await Promise.all(answers))]).toEqual([version, 200, 403, 0, 0]);
      }
    },
  );

  describe.each(["TLSv1.3", "TLSv1.2"] as const)("R27: a session of %s is no way around a change of", (version) => {
    const speaks: ConnectionOptions = { minVersion: version, maxVersion: version };
    const alias: Peer = { ...web, trustDomain: "old.example" };

    /** A client that has been let in, and can come back by its session. */
    async function letIn(peer: Peer, scenario: Partial<Scenario> = {}): Promise<() => Promise<Answer>> {
      await giveCertificate();
      giveRoots(identities);
      await envoy.serve(await listenerOf(scenario));
      await active();
      const credentials = await identities.issue(peer);
      const { status, session } = await mutual(credentials, speaks);
      expect([status, session instanceof Buffer]).toEqual([200, true]);
      const again = (): Promise<Answer> => mutual(credentials, { ...speaks, ...(session ? { session } : {}) });
      expect(await again()).toMatchObject({ status: 200, reused: true });
      return again;
    }

    test("AuthorizationPolicy", async () => {
      const again = await letIn(web);
      await envoy.serve(await listenerOf({ policies: [only("other")] }));
      expect(await statusOf(again())).toBe(403);
    });

    test("PeerAuthentication", async () => {
      const again = await letIn(web, { mtls: "PERMISSIVE" });
      expect(await statusOf(plaintext())).toBe(200);
      await envoy.serve(await listenerOf({ mtls: "STRICT", policies: [only("other")] }));
      expect(await statusOf(plaintext())).toBe(0);
      // By its session, too, the client is who it is: not the one that may.
      expect(await statusOf(again())).toBe(403);
      await envoy.serve(await listenerOf({ mtls: "DISABLE" }));
      expect(await statusOf(again())).toBe(0);
    });

    test("trust domains", async () => {
      const again = await letIn(alias, { trustDomainAliases: ["old.example"] });
      await envoy.serve(await listenerOf());
      expect(await statusOf(again())).toBe(0);
    });

    test("roots", async () => {
      const again = await letIn(web);
      const next = await createIdentities();
      const before = await envoy.count("sds.ROOTCA.update_success");
      giveRoots(next);
      await envoy.counted("sds.ROOTCA.update_success", (value) => value > before);
      expect(await statusOf(again())).toBe(0);
      expect(await statusOf(mutual(await next.issue(web), speaks))).toBe(200);
    });
  });
});
