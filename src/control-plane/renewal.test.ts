/** A real API, the real judges and CA: who may renew a certificate after something was deleted. */
import type { X509Certificate } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createCertificateAuthority, createCertificateService, createSelfSignedBundle } from "../ca/index.ts";
import { createGraph } from "../collections/index.ts";
import { IstioCertificateRequestSchema, IstioCertificateService } from "../gen/istio/auth_pb.js";
import { kubeKinds, requestToken } from "../kube/index.ts";
import { silentLogger } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import {
  createCsr,
  formatCertificate,
  formatPrivateKey,
  generateKey,
  type KeyPair,
  parseCertificate,
} from "../pki/index.ts";
import { createRpcClient, createRpcServer, protoMethod, type RpcServer, status } from "../rpc/index.ts";
import { createStillThere, createTokenJudge } from "./authenticate.ts";
import { type ControlledApi, startControlledApi } from "./controllers/testing.ts";

const method = protoMethod(IstioCertificateService.method.createCertificate);
const now = (): Date => new Date();
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
  const judge = createTokenJudge({
    client,
    pods: createGraph().source<KubeObject>("pods"),
    audiences: ["istio-ca"],
    trustDomain: () => "cluster.local",
  });
  const service = createCertificateService({
    authority,
    authenticate: judge.identify,
    stillThere: createStillThere(client),
    rateLimit: { take: () => true },
    metrics: { count: () => {} },
    log: silentLogger,
  });
  const serving = await authority.issueServing({ dns: ["istiod"], addresses: [] });
  server = createRpcServer({ routes: [service], tls: { ...serving, clientCa: roots }, log: silentLogger });
  ({ port } = await server.listen({ host: "127.0.0.1", port: 0 }));
});
afterAll(async () => {
  await server.close();
  await controlled.close();
});

async function ask(by: { readonly token?: string; readonly certificate?: X509Certificate }, hours: number) {
  const shown = by.certificate
    ? { cert: formatCertificate(by.certificate), key: formatPrivateKey(key.privateKey) }
    : {};
  const client = createRpcClient({
    target: { host: "127.0.0.1", port },
    tls: () => ({ ca: roots, serverName: "istiod", ...shown }),
    metadata: async () => (by.token === undefined ? {} : { authorization: `Bearer ${by.token}` }),
  });
  try {
    const request = { csr: createCsr({ key }), validityDuration: BigInt(hours * 3600) };
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

async function setUp(name: string): Promise<{ podless: X509Certificate; bound: X509Certificate }> {
  const { admin } = controlled;
  await admin.create(kubeKinds.serviceAccounts, account(name));
  const { metadata } = await admin.create(kubeKinds.pods, pod(name, name));
  const order = { namespace: "default", serviceAccount: name, audiences: ["istio-ca"] };
  const free = await requestToken(admin, order);
  const boundPod = { name, uid: metadata.uid ?? "" };
  const tied = await requestToken(admin, { ...order, boundPod });
  return { podless: await ask({ token: free.token }, 2), bound: await ask({ token: tied.token }, 2) };
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

test("when its Pod was deleted, it does not, nor when another Pod has its name", async () => {
  const { podless, bound } = await setUp("replaced");
  const renewed = await ask({ certificate: bound }, 1);
  await controlled.admin.delete(kubeKinds.pods, ref("replaced"), { gracePeriodSeconds: 0 });
  await expect(ask({ certificate: bound }, 1)).rejects.toMatchObject(refused);
  await controlled.admin.create(kubeKinds.pods, pod("replaced", "replaced"));
  await expect(ask({ certificate: bound }, 1)).rejects.toMatchObject(refused);
  await expect(ask({ certificate: renewed }, 1), "what it renewed to is bound as well").rejects.toMatchObject(refused);
  await ask({ certificate: podless }, 1);
});

test("when its account was deleted, it does not, nor when another account has its name", async () => {
  const { podless } = await setUp("dismissed");
  await controlled.admin.delete(kubeKinds.serviceAccounts, ref("dismissed"));
  await expect(ask({ certificate: podless }, 1)).rejects.toMatchObject(refused);
  await controlled.admin.create(kubeKinds.serviceAccounts, account("dismissed"));
  await expect(ask({ certificate: podless }, 1)).rejects.toMatchObject(refused);
});
