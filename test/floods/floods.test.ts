/**
 * R04 on the ports of a control plane in a process of its own: an attacker who comes back whenever it is sent away gets
 * no memory to speak of, and all the while another client is answered. That this one's answers take no more than twice as
 * long is not measured, which would be a matter of the machine: no turn of the event loop is long, in processor time.
 *
 * And R26 on those of xDS: what ended istiod ends one stream alone.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { connect as connectTls } from "node:tls";
import { create, type JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DeltaDiscoveryRequestSchema } from "../../src/gen/envoy/service/discovery/v3/discovery_pb.js";
import { types } from "../../src/model/index.ts";
import { createRpcClient, type RpcClient, RpcError, status } from "../../src/rpc/index.ts";
import { deltaMethod } from "../../src/xds/index.ts";
import { typedKeys } from "../../src/xds/node/node-metadata.ts";
import { metadataValues } from "../../src/xds/testing.ts";
import { ask } from "../http/ask.ts";
import { startWorld, type World } from "../turns/world.ts";
import { type Flood, flood, frameFloods, greet } from "./frames.ts";
import { lineFloods } from "./lines.ts";

const host = "127.0.0.1";
const maxGrowth = 50 * 1024 * 1024;
/** In processor time; the standing rule of what bad input may cost. */
const maxTurnMs = 250;
/** Of the other client, one after the other. */
const questions = 10;

let world: World;
let folder: string;
const clients: RpcClient[] = [];
/** Of xDS: without an identity, and with a token. */
let plain: RpcClient;
let secure: RpcClient;

/** A port, and what it does for others. */
interface Port {
  connect(): Socket;
  /** A question of another client; resolves with its answer, in short. */
  ask(): Promise<string>;
}
let ports: Readonly<Record<"15010" | "15012" | "15017" | "the dashboard", Port>>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "fairlead-floods-"));
  writeFileSync(join(folder, "index.html"), "the page");
  world = await startWorld(folder);
  const { grpc, secureGrpc, https, dashboard } = world.plane;
  const accounts = "/api/v1/namespaces/default/serviceaccounts";
  await world.call("POST", accounts, { metadata: { name: "web" } });
  const { body } = await world.call("POST", `${accounts}/web/token`, { spec: { audiences: ["istio-ca"] } });
  const { token } = body["status"] as { readonly token: string };
  plain = createRpcClient({ target: grpc });
  secure = createRpcClient({
    target: secureGrpc,
    tls: () => ({ insecure: true }),
    metadata: async () => ({ authorization: `Bearer ${token}` }),
  });
  clients.push(plain, secure);
  const tls = (port: number, protocol: string) => (): Socket =>
    connectTls({ host, port, rejectUnauthorized: false, ALPNProtocols: [protocol] });
  const pagePort = dashboard?.port ?? 0;
  ports = {
    "15010": { connect: () => connect(grpc.port, host), ask: () => askClusters(plain) },
    "15012": { connect: tls(secureGrpc.port, "h2"), ask: () => askClusters(secure) },
    "15017": { connect: tls(https.port, "http/1.1"), ask: () => askVerdict(https.port) },
    "the dashboard": { connect: () => connect(pagePort, host), ask: async () => (await ask(pagePort, "/")).text },
  };
});
afterAll(async () => {
  for (const client of clients) client.close();
  await world.close();
  rmSync(folder, { recursive: true });
});

async function askClusters(client: RpcClient, more: JsonObject = {}): Promise<string> {
  const stream = await client.stream(deltaMethod);
  const metadata = { NAMESPACE: "default", SERVICE_ACCOUNT: "web", ...more };
  const node = { id: "sidecar~10.0.0.1~web.default~default.svc.cluster.local", metadata };
  await stream.send(create(DeltaDiscoveryRequestSchema, { node, typeUrl: types.cluster }));
  const { done, value } = await stream.messages.next();
  stream.cancel();
  return done ? "nothing" : value.resources.length > 0 ? "clusters" : "no clusters";
}

/** The status that such a node is refused with; ok for one that is served. */
const statusFor = (client: RpcClient, metadata: JsonObject): Promise<number> =>
  askClusters(client, metadata).then(
    () => status.ok,
    (error: unknown) => {
      if (error instanceof RpcError) return error.status;
      throw error;
    },
  );

/** How often the two ports of xDS have refused something, by why. */
async function refused(): Promise<ReadonlyMap<string, number>> {
  const { host: at, port } = world.plane.monitoring;
  const told = await (await fetch(`http://${at}:${port}/metrics`)).text();
  const lines = told.matchAll(/^fairlead_xds_refused_total\{reason="(\w+)"\} (\d+)$/gm);
  return new Map([...lines].map(([, reason = "", count = ""]) => [reason, Number(count)]));
}

function askVerdict(port: number): Promise<string> {
  const object = {
    ...{ apiVersion: "networking.istio.io/v1", kind: "DestinationRule" },
    ...{ metadata: { name: "d", namespace: "n" }, spec: { host: "a" } },
  };
  const asked = { uid: "u", operation: "CREATE", namespace: "n", object };
  const review = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request: asked };
  const headers = { "content-type": "application/json" };
  return new Promise((resolve, reject) => {
    const options = { host, port, path: "/validate", method: "POST", headers, rejectUnauthorized: false };
    request(options, (answer) => void text(answer).then(resolve, reject))
      .on("error", reject)
      .end(JSON.stringify(review));
  });
}

/** What the other client is told while nobody else asks. */
const usual: Readonly<Record<keyof typeof ports, RegExp>> = {
  "15010": /^clusters$/,
  "15012": /^clusters$/,
  "15017": /"allowed":true/,
  "the dashboard": /^the page$/,
};

/** Comes back until the other client has all its answers; tells how often it was sent away. */
async function attack(port: Port, next: Flood, isOver: () => boolean, begin?: (socket: Socket) => unknown) {
  let sentAway = 0;
  do {
    const socket = port.connect();
    begin?.(socket);
    const isClosed = await flood(socket, next);
    socket.destroy();
    if (!isClosed) throw new Error("the flood was taken for ever");
    sentAway++;
  } while (!isOver());
  return sentAway;
}

async function withstands(name: keyof typeof ports, next: Flood, begin?: (socket: Socket) => unknown): Promise<void> {
  const port = ports[name];
  const { plane } = world.measured;
  expect(await port.ask()).toMatch(usual[name]);
  let answered = 0;
  let growth = 0;
  const { ms } = await plane.longestTurn(async () => {
    growth = await plane.residentGrowth(async () => {
      const attacking = attack(port, next, () => answered === questions, begin);
      for (; answered < questions; answered++) expect(await port.ask()).toMatch(usual[name]);
      expect(await attacking).toBeGreaterThan(0);
    });
  });
  expect(growth).toBeLessThan(maxGrowth);
  expect(ms).toBeLessThan(maxTurnMs);
}

const both = <T>(names: readonly T[], floods: Readonly<Record<string, Flood>>) =>
  names.flatMap((name) => Object.entries(floods).map(([what, next]) => [name, what, next] as const));

test.each(both(["15010", "15012"] as const, frameFloods(deltaMethod.path)))(
  "R04: %s takes no flood of %s, and serves others",
  (name, _what, next) => withstands(name, next, greet),
);

test("R04: floods of frames are counted", async () => {
  expect((await refused()).get("BadConnection")).toBeGreaterThan(0);
});

// These two speak HTTP/1 alone.
test.each(both(["15017", "the dashboard"] as const, lineFloods))(
  "R04: %s takes no flood in HTTP/1 of %s, and serves others",
  (name, _what, next) => withstands(name, next),
);

test.each(["15017", "the dashboard"] as const)("R04: %s takes no frame of HTTP/2, and serves others", async (name) => {
  // Whatever follows the greeting, that is refused.
  await withstands(name, () => Buffer.alloc(17), greet);
});

test("R04: 15017 agrees to no HTTP/2", async () => {
  const { port } = world.plane.https;
  const socket = connectTls({ host, port, rejectUnauthorized: false, ALPNProtocols: ["h2"] });
  const outcome = await new Promise((resolve) => {
    socket.once("secureConnect", () => resolve(socket.alpnProtocol));
    socket.once("error", () => resolve("refused"));
  });
  socket.destroy();
  expect(outcome).toBe("refused");
});

test("R26: a node without a list of addresses, with a token that is none, opens no stream and ends no process", async () => {
  const bearers = [".bnVsbM.", ".bnVsbA."];
  const { grpc, secureGrpc } = world.plane;
  const before = await refused();
  for (const bearer of bearers) {
    const shown = { metadata: async () => ({ authorization: `Bearer ${bearer}` }) };
    const nobody = createRpcClient({ target: secureGrpc, tls: () => ({ insecure: true }), ...shown });
    const anybody = createRpcClient({ target: grpc, ...shown });
    clients.push(nobody, anybody);
    expect(await statusFor(nobody, { INSTANCE_IPS: 1 })).toBe(status.unauthenticated);
    // Nobody is asked for a token there.
    expect(await statusFor(anybody, { INSTANCE_IPS: 1 })).toBe(status.invalidArgument);
  }
  const after = await refused();
  const more = (reason: string): number => (after.get(reason) ?? 0) - (before.get(reason) ?? 0);
  expect([more("Unauthenticated"), more("InvalidArgument")]).toEqual([bearers.length, bearers.length]);
  for (const port of ["15010", "15012"] as const) expect(await ports[port].ask()).toMatch(usual[port]);
});

/** A namespace or account other than the token's is not permitted, and no group is there to register with. */
const outcomes: readonly number[] = [
  ...[status.ok, status.invalidArgument, status.permissionDenied, status.failedPrecondition],
];

test.each([
  ["15010", () => plain],
  ["15012", () => secure],
] as const)(
  "R26: %s serves or refuses every typed key with a value of every kind, and lives on",
  async (port, clientOf) => {
    const { ms } = await world.measured.plane.longestTurn(async () => {
      for (const key of typedKeys)
        await Promise.all(
          Object.entries(metadataValues).map(async ([kind, value]) =>
            expect(outcomes, `${key} with ${kind}`).toContain(await statusFor(clientOf(), { [key]: value })),
          ),
        );
    });
    expect(ms).toBeLessThan(maxTurnMs);
    expect(await ports[port].ask()).toMatch(usual[port]);
  },
);
