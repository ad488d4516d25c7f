/** Judges of tokens that lie, fail or do not answer, played by a server; the real one is asked in renewal.test.ts. */
import type { RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, test } from "vitest";
import { createGraph } from "../collections/index.ts";
import { createKubeClient } from "../kube/index.ts";
import { parseJson, readRecord } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import { formatCertificate, formatPrivateKey, generateKey, issueCertificate } from "../pki/index.ts";
import { createTokenJudge, identityOf, type TokenJudge } from "./authenticate.ts";

const closing: (() => void)[] = [];
let nowMs = 0;
afterEach(() => {
  for (const close of closing.splice(0).reverse()) close();
});

async function listen(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => sockets.add(socket.on("error", () => {})));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

function judgeAt(server: string, known: readonly KubeObject[] = []): TokenJudge {
  const client = createKubeClient({
    ...{ server, serverName: undefined, ca: undefined, insecure: true, namespace: "default" },
    credentials: async () => ({}),
  });
  closing.push(() => client.close());
  const pods = createGraph().source<KubeObject>("pods");
  for (const pod of known) pods.set(`${pod.metadata.namespace}/${pod.metadata.name}`, pod);
  return createTokenJudge({
    ...{ client, pods, audiences: ["istio-ca"], trustDomain: () => "cluster.local" },
    ...{ sharedMs: 1000, monotonicMs: () => nowMs },
  });
}

test("an API that never answers is waited for only as long as the caller says", async () => {
  const judge = judgeAt(`https://127.0.0.1:${await listen(createServer())}`);
  await expect(judge.identify("a.b.c", AbortSignal.timeout(50))).rejects.toMatchObject({ name: "TimeoutError" });
});

const [uid, groups, audiences] = ["account-uid", ["system:serviceaccounts"], ["istio-ca"]];
const user = { username: "system:serviceaccount:shop:db", uid, groups };
const identity = { trustDomain: "cluster.local", namespace: "shop", serviceAccount: "db" };
const bound = (podUid: string) => ({
  ...user,
  extra: { "authentication.kubernetes.io/pod-name": ["db-0"], "authentication.kubernetes.io/pod-uid": [podUid] },
});
const pod = (podUid: string): KubeObject => ({
  ...{ apiVersion: "v1", kind: "Pod", metadata: { name: "db-0", namespace: "shop", uid: podUid } },
});

/** An API that answers reviews with this status, and has these Pods. */
async function judgeOf(status: unknown, held: readonly KubeObject[] = [], known: readonly KubeObject[] = []) {
  const asked: unknown[] = [];
  const answer: RequestListener = async (request, response) => {
    const say = (code: number, body: unknown): void => {
      response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify(body));
    };
    if (request.method === "POST") {
      asked.push(readRecord(readRecord(parseJson(await text(request))).spec).audiences);
      if (typeof status === "number") say(status, { kind: "Status", code: status, message: "no" });
      else say(201, { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", status });
      return;
    }
    const found = held.find(({ metadata }) => request.url?.endsWith(`/pods/${metadata.name}`));
    say(found ? 200 : 404, found ?? { kind: "Status", code: 404, reason: "NotFound", message: "not found" });
  };
  const { publicKey, privateKey: key } = await generateKey();
  const terms = { profile: "server", subject: { commonName: "api" }, publicKey } as const;
  const life = { now: new Date(), ttlMs: 3_600_000, signer: { certificate: undefined, key } };
  const cert = formatCertificate(issueCertificate({ ...terms, ...life }));
  const server = createTlsServer({ cert, key: formatPrivateKey(key) }, answer);
  const judge = judgeAt(`https://127.0.0.1:${await listen(server)}`, known);
  return { asked, identity: (token = "a.b.c") => identityOf(judge, `Bearer ${token}`) };
}

test("C08: whoever the API vouches for, asked with our audience, is who it says", async () => {
  const { asked, identity: found } = await judgeOf({ authenticated: true, user, audiences });
  expect(await found()).toEqual(identity);
  expect(asked).toEqual([["istio-ca"]]);
});

test("one yes serves all who show the token at once or soon after, and no longer; a no serves nobody else", async () => {
  const { asked, identity: found } = await judgeOf({ authenticated: true, user, audiences });
  expect(await Promise.all(Array.from({ length: 20 }, () => found()))).toEqual(Array(20).fill(identity));
  nowMs += 999;
  expect(await found()).toEqual(identity);
  expect(asked).toHaveLength(1);
  await found("d.e.f");
  expect(asked).toHaveLength(2);
  nowMs += 1;
  await found();
  expect(asked).toHaveLength(3);
  const refusing = await judgeOf({ authenticated: false, audiences });
  for (let i = 0; i < 3; i++) expect(await refusing.identity()).toBeUndefined();
  expect(refusing.asked).toHaveLength(3);
});

describe("C13: an answer that is no clear yes is a no", () => {
  test.each<[string, unknown]>([
    ["a failure", 500],
    ["a refusal", 403],
    ["no status", undefined],
    ["a no with a user", { authenticated: false, user, audiences }],
    ["a yes without a user", { authenticated: true, audiences }],
    ["a yes in other words", { authenticated: "true", user, audiences }],
    ["no audience, from who does not know of any", { authenticated: true, user }],
    ["another audience", { authenticated: true, user, audiences: ["kubernetes"] }],
    ["a person", { authenticated: true, user: { ...user, username: "anna" }, audiences }],
    ["an account by name alone", { authenticated: true, user: { ...user, groups: [] }, audiences }],
    ["no account", { authenticated: true, user: { ...user, username: "system:serviceaccount:shop" }, audiences }],
    ["a path", { authenticated: true, user: { ...user, username: "system:serviceaccount:../..:x" }, audiences }],
  ])("%s", async (_, status) => {
    expect(await (await judgeOf(status)).identity()).toBeUndefined();
  });
});

describe("C09: the token of a Pod, which Kubernetes believes for a while after its end", () => {
  const yes = { authenticated: true, user: bound("one"), audiences };
  test("is good while that Pod is known, or so new that only the API knows it", async () => {
    expect(await (await judgeOf(yes, [], [pod("one")])).identity()).toEqual(identity);
    expect(await (await judgeOf(yes, [pod("one")])).identity()).toEqual(identity);
  });
  test("is not when another Pod has its name, nor when there is none", async () => {
    expect(await (await judgeOf(yes, [], [pod("two")])).identity()).toBeUndefined();
    expect(await (await judgeOf(yes, [pod("two")])).identity()).toBeUndefined();
    const pods = [pod("one")];
    const { asked, identity: found } = await judgeOf(yes, pods);
    expect(await found()).toEqual(identity);
    pods.pop();
    expect(await found()).toBeUndefined();
    expect(asked).toHaveLength(1);
    expect(await (await judgeOf(yes)).identity()).toBeUndefined();
  });
});
