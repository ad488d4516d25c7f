/** A real API, the real judges and CA: who may renew a certificate, or keep a stream with it, after something was deleted. */
import { randomUUID, type X509Certificate } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  createCertificateAuthority,
  createCertificateService,
  createOwnSigner,
  createSelfSignedBundle,
} from "../ca/index.ts";
import { createGraph } from "../collections/index.ts";
import { AggregatedDiscoveryService } from "../gen/envoy/service/discovery/v3/ads_pb.js";
import { DiscoveryRequestSchema } from "../gen/envoy/service/discovery/v3/discovery_pb.js";
import { IstioCertificateRequestSchema, IstioCertificateService } from "../gen/istio/auth_pb.js";
import { kubeKinds, requestToken } from "../kube/index.ts";
import { silentLogger } from "../lib/index.ts";
import { emptyResourceSet, type KubeObject, types } from "../model/index.ts";
import {
  createCsr,
  formatCertificate,
  formatPrivateKey,
  generateKey,
  type KeyPair,
  parseCertificate,
} from "../pki/index.ts";
import { createRpcClient, createRpcServer, protoMethod, type RpcClient, type RpcServer, status } from "../rpc/index.ts";
import { createAds } from "../xds/index.ts";
import { authenticateWith, createStillThere, createTokenJudge } from "./authenticate.ts";
import { createCertificateHeld } from "./certificate-held.ts";
import { type ControlledApi, startControlledApi } from "./controllers/testing.ts";

const method = protoMethod(IstioCertificateService.method.createCertificate);
const now = (): Date => new Date();
const closing: (() => void)[] = [];
const hourMs = 3_600_000;
let controlled: ControlledApi;
let server: RpcServer;
let port: number;
let roots: string;
let key: KeyPair;

beforeAll(async () => {
  controlled = await startControlledApi();
  key = await generateKey();
  const { client } = controlled;
  const bundle = await createSelfSignedBundle({ organization: "cluster.local", now: now() });
  const authority = createCertificateAuthority({ bundle, now });
  roots = authority.roots();
  const pods = createGraph().source<KubeObject>("pods");
  const judge = createTokenJudge({
    client,
    pods,
    audiences: ["istio-ca"],
    trustDomain: () => "cluster.local",
    ...{ sharedMs: 0, monotonicMs: () => performance.now() },
  });
  const stillThere = createStillThere(client);
  const service = createCertificateService({
    acceptsPeer: () => true,
    signer: createOwnSigner(authority),
    authenticate: judge.identify,
    stillThere,
    rateLimit: { take: () => true },
    metrics: { count: () => {} },
    log: silentLogger,
  });
  const serving = await authority.issueServing({ dns: ["istiod"], addresses: [] });
  const nothing = { ready: undefined, all: () => emptyResourceSet, get: () => undefined, forget() {}, close() {} };
  const ads = createAds({
    ...{ source: { connect: () => nothing }, identifier: "test", ready: () => true, log: silentLogger, now },
    ...{ uuid: randomUUID, limits: { reauthenticateMs: 50 } },
  });
  const streams = ads.routes(
    authenticateWith(judge, createCertificateHeld({ stillThere, pods, sharedMs: 50 }), () => true),
  );
  server = createRpcServer({ routes: [service, ...streams], tls: { ...serving, clientCa: roots }, log: silentLogger });
  ({ port } = await server.listen({ host: "127.0.0.1", port: 0 }));
});
afterAll(async () => {
  for (const close of closing) close();
  await server.close();
  await controlled.close();
});

interface By {
  readonly token?: string;
  readonly certificate?: X509Certificate;
}

function clientOf(by: By): RpcClient {
  const shown = by.certificate
    ? { cert: formatCertificate(by.certificate), key: formatPrivateKey(key.privateKey) }
    : {};
  return createRpcClient({
    target: { host: "127.0.0.1", port },
    tls: () => ({ ca: roots, serverName: "istiod", ...shown }),
    metadata: async () => (by.token === undefined ? {} : { authorization: `Bearer ${by.token}` }),
  });
}

async function ask(by: By, hours: number) {
  const client = clientOf(by);
  try {
    const request = { csr: createCsr({ key }), validityDuration: BigInt(Math.round(hours * 3600)) };
    const [leaf = ""] = (await client.unary(method, create(IstioCertificateRequestSchema, request))).certChain;
    return parseCertificate(leaf);
  } finally {
    client.close();
  }
}

const account = (name: string): KubeObject => ({
  apiVersion: "v1",
  kind: "ServiceAccount",
  metadata: { name, namespace: "default" },
});
const pod = (name: string, serviceAccountName: string) =>
  ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default" },
    spec: { serviceAccountName, containers: [{ name: "c", image: "i" }] },
  }) as KubeObject;

interface Proofs {
  readonly podless: X509Certificate;
  readonly bound: X509Certificate;
  /** Of the Pod, too. */
  readonly token: string;
}

async function setUp(name: string): Promise<Proofs> {
  const { admin } = controlled;
  await admin.create(kubeKinds.serviceAccounts, account(name));
  const { metadata } = await admin.create(kubeKinds.pods, pod(name, name));
  const order = { namespace: "default", serviceAccount: name, audiences: ["istio-ca"] };
  const free = await requestToken(admin, order);
  const boundPod = { name, uid: metadata.uid ?? "" };
  const tied = await requestToken(admin, { ...order, boundPod });
  const [podless, bound] = [await ask({ token: free.token }, 2), await ask({ token: tied.token }, 2)];
  return { podless, bound, token: tied.token };
}
const lifeHours = ({ validToDate }: X509Certificate): number => (validToDate.getTime() - Date.now()) / hourMs;
const refused = { status: status.unauthenticated };
const ref = (name: string) => ({ namespace: "default", name });

test("while all is there, it renews itself, for no longer than what the token gave", async () => {
  const { podless, bound } = await setUp("alive");
  for (const certificate of [podless, bound]) {
    const renewed = await ask({ certificate }, 90 * 24);
    expect(lifeHours(renewed)).toBeLessThanOrEqual(2);
    expect(lifeHours(await ask({ certificate: renewed }, 90 * 24))).toBeLessThanOrEqual(2);
  }
});

test("C09: when its Pod was deleted, it does not, nor when another Pod has its name", async () => {
  const { podless, bound } = await setUp("replaced");
  const renewed = await ask({ certificate: bound }, 1);
  await controlled.admin.delete(kubeKinds.pods, ref("replaced"), { gracePeriodSeconds: 0 });
  await expect(ask({ certificate: bound }, 1)).rejects.toMatchObject(refused);
  await controlled.admin.create(kubeKinds.pods, pod("replaced", "replaced"));
  await expect(ask({ certificate: bound }, 1)).rejects.toMatchObject(refused);
  await expect(ask({ certificate: renewed }, 1), "what it renewed to is bound as well").rejects.toMatchObject(refused);
  await ask({ certificate: podless }, 1);
});

test("C09: when its account was deleted, it does not, nor when another account has its name", async () => {
  const { podless } = await setUp("dismissed");
  await controlled.admin.delete(kubeKinds.serviceAccounts, ref("dismissed"));
  await expect(ask({ certificate: podless }, 1)).rejects.toMatchObject(refused);
  await controlled.admin.create(kubeKinds.serviceAccounts, account("dismissed"));
  await expect(ask({ certificate: podless }, 1)).rejects.toMatchObject(refused);
});

const adsMethod = protoMethod(AggregatedDiscoveryService.method.streamAggregatedResources);

const nodeOf = (serviceAccount: string) => ({
  id: `sidecar~10.0.0.1~${serviceAccount}.default~default.svc.cluster.local`,
  metadata: { NAMESPACE: "default", SERVICE_ACCOUNT: serviceAccount },
});

function forwarded(account: string): string {
  return `By=x;URI=spiffe://cluster.local/ns/default/sa/${account}`;
}

/** A stream that has been answered; `next` then says how it ends. */
async function follow(by: X509Certificate | string, serviceAccount: string) {
  const client = clientOf(typeof by === "string" ? { token: by } : { certificate: by });
  closing.push(() => client.close());
  const { messages, send } = await client.stream(adsMethod);
  void send(create(DiscoveryRequestSchema, { node: nodeOf(serviceAccount), typeUrl: types.cluster })).catch(() => {});
  await messages.next();
  return messages;
}

test.each<[string, Readonly<Record<string, string>>]>([
  ["R26: a token without more than a null in it", { authorization: "Bearer .bnVsbM." }],
  ["R26: one with a null that is spelt well", { authorization: "Bearer .bnVsbA." }],
  ["R30: a certificate that somebody is said to have shown", { "x-forwarded-client-cert": forwarded("a") }],
])("%s opens no stream, also from this machine", async (_, headers) => {
  const client = createRpcClient({
    target: { host: "127.0.0.1", port },
    tls: () => ({ ca: roots, serverName: "istiod" }),
    metadata: async () => headers,
  });
  closing.push(() => client.close());
  const { messages, send } = await client.stream(adsMethod);
  void send(create(DiscoveryRequestSchema, { node: nodeOf("a"), typeUrl: types.cluster })).catch(() => {});
  await expect(messages.next()).rejects.toMatchObject(refused);
});

/** As many others, on a few connections, each of which asks for another type when it is told to. */
async function others(count: number) {
  const { podless } = await setUp("others");
  const perClient = 50;
  const shared = Array.from({ length: count / perClient }, () => clientOf({ certificate: podless }));
  closing.push(...shared.map((client) => () => client.close()));
  const streams = await Promise.all(
    shared.flatMap((client) =>
      Array.from({ length: perClient }, async () => {
        const stream = await client.stream(adsMethod);
        await stream.send(create(DiscoveryRequestSchema, { node: nodeOf("others"), typeUrl: types.cluster }));
        await stream.messages.next();
        return stream;
      }),
    ),
  );
  const answerFor = async ({ send, messages }: (typeof streams)[number], typeUrl: string): Promise<string> => {
    await send(create(DiscoveryRequestSchema, { typeUrl }));
    const { done, value } = await messages.next();
    return done ? "the stream has ended" : value.typeUrl;
  };
  return { ask: (typeUrl: string) => Promise.all(streams.map((stream) => answerFor(stream, typeUrl))) };
}

test("X19: when its Pod or its account was deleted, a stream ends, and no other is opened with that certificate or token", async () => {
  const crowd = await others(200);
  const [evicted, closed] = [await setUp("evicted"), await setUp("closed")];
  const streams = [
    await follow(evicted.bound, "evicted"),
    await follow(evicted.token, "evicted"),
    await follow(closed.podless, "closed"),
    await follow(closed.token, "closed"),
  ];
  const stays = await follow(evicted.podless, "evicted");
  await controlled.admin.delete(kubeKinds.pods, ref("evicted"), { gracePeriodSeconds: 0 });
  await controlled.admin.delete(kubeKinds.serviceAccounts, ref("closed"));
  for (const stream of streams) await expect(stream.next()).rejects.toMatchObject(refused);
  await expect(follow(evicted.bound, "evicted")).rejects.toMatchObject(refused);
  await expect(follow(evicted.token, "evicted")).rejects.toMatchObject(refused);
  await expect(follow(closed.podless, "closed")).rejects.toMatchObject(refused);
  await expect(follow(closed.token, "closed")).rejects.toMatchObject(refused);
  expect(await crowd.ask(types.listener)).toEqual(Array(200).fill(types.listener));
  // What was not bound to the Pod lives on.
  const first = await Promise.race([stays.next(), follow(evicted.podless, "evicted").then(() => "another")]);
  expect(first).toBe("another");
});

test("X19: a certificate that expires ends its connection, and the next one is good for a stream again", async () => {
  const { podless } = await setUp("renewing");
  const short = async () => {
    const certificate = await ask({ certificate: podless }, 3 / 3600);
    // On a busy machine it may have expired before it was shown.
    return await follow(certificate, "renewing").catch(() => undefined);
  };
  let stream = await short();
  while (!stream) stream = await short();
  await expect(stream.next()).rejects.toMatchObject({ status: status.unavailable });
  await follow(podless, "renewing");
});
