/** Control planes on a real API, and proxies that come for certificates: what each step of a change of the root waits for. */
import { create } from "@bufbuild/protobuf";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createSelfSignedBundle, formatSigningBundle, parseSigningBundle, type SigningBundle } from "../../ca/index.ts";
import { DeltaDiscoveryRequestSchema } from "../../gen/envoy/service/discovery/v3/discovery_pb.js";
import { kubeKinds, requestToken } from "../../kube/index.ts";
import { createLogger, isRecord, parseJson, readList, readRecord, readText } from "../../lib/index.ts";
import { type KubeObject, types } from "../../model/index.ts";
import {
  chainsTo,
  formatBundle,
  generateKey,
  issueCertificate,
  parseCertificate,
  parseCertificates,
} from "../../pki/index.ts";
import { createRpcClient } from "../../rpc/index.ts";
import { deltaMethod } from "../../xds/index.ts";
import { type ControlledApi, startControlledApi } from "../controllers/testing.ts";
import type { Discovery } from "../discovery.ts";
import { allowSecrets, scrape } from "../testing.ts";
import { requestAnnotation } from "./rotation-store.ts";
import { decodeSecret, encodeSecret } from "./secret-data.ts";
import { connectProxy, startPlane, type TestProxy } from "./testing.ts";

const patient = { timeout: 60_000 };
const system = "istio-system";
const rotationKey = `${system}/fairlead-root-rotation`;
let world: ControlledApi;
const open: (() => unknown)[] = [];
beforeEach(async () => {
  world = await startControlledApi();
  open.push(() => world.close());
  await allowSecrets(world);
  world.objects("", "Secret");
  world.objects("", "ConfigMap");
});
afterEach(async () => {
  for (const end of open.splice(0).reverse()) await end();
});

async function plane(more: Parameters<typeof startPlane>[1] = {}): Promise<Discovery> {
  const started = await startPlane(world, more);
  open.push(() => started.close());
  return started;
}

async function proxy(of: Discovery, name: string, listens: boolean, callsItself = name): Promise<TestProxy> {
  const map = await world.until("", "ConfigMap", "default/istio-ca-root-cert", (found) => rootsIn(found).length > 0);
  const connected = await connectProxy(world, of, name, {
    ...{ listens, callsItself },
    roots: () => formatBundle(rootsIn(map)),
  });
  open.push(() => connected.close());
  return connected;
}

const rootsIn = (map: KubeObject | undefined) => parseCertificates(readText(readRecord(map?.data)["root-cert.pem"]));

function stateOf(secret: KubeObject | undefined): Readonly<Record<string, unknown>> {
  const text = decodeSecret(secret)["state"];
  const state = text === undefined ? {} : parseJson(text);
  return isRecord(state) ? state : {};
}
const phase = (wanted: string) =>
  world.until("", "Secret", rotationKey, (secret) => stateOf(secret)["phase"] === wanted);

async function ask(action: string, proxies: readonly string[] = []): Promise<void> {
  const annotations = { [requestAnnotation]: JSON.stringify({ id: action, action, proxies }) };
  const ref = { name: "fairlead-root-rotation", namespace: system };
  const found = await world.admin.find(kubeKinds.secrets, ref);
  const body = { apiVersion: "v1", kind: "Secret", metadata: { ...ref, annotations } };
  if (found) await world.admin.patch(kubeKinds.secrets, ref, "merge", { metadata: { annotations } });
  else await world.admin.create(kubeKinds.secrets, body);
}

const isUnder = (chain: readonly string[], root: SigningBundle): boolean => {
  const [leaf, ...between] = chain.slice(0, -1).map(parseCertificate);
  return leaf !== undefined && chainsTo(leaf, between, root.roots, new Date());
};
async function ownCa(): Promise<SigningBundle> {
  const secret = await world.admin.get(kubeKinds.secrets, { name: "istio-ca-secret", namespace: system });
  const data = decodeSecret(secret);
  const file = (name: string): string => data[name] ?? "";
  return parseSigningBundle(
    { "ca-cert.pem": file("ca-cert.pem"), "ca-key.pem": file("ca-key.pem"), "root-cert.pem": file("root-cert.pem") },
    new Date(),
  );
}

const webhooks = (): KubeObject => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "MutatingWebhookConfiguration",
  metadata: { name: "injector", labels: { "istio.io/rev": "default" } },
  webhooks: [
    {
      name: "rev.sidecar-injector.istio.io",
      clientConfig: { url: "https://127.0.0.1:1/inject" },
      sideEffects: "None",
      admissionReviewVersions: ["v1"],
      rules: [],
    },
  ],
});
const bundleIn = (found: KubeObject | undefined): string => {
  const [webhook] = readList(found?.["webhooks"]).map(readRecord);
  return Buffer.from(readText(readRecord(webhook?.clientConfig)["caBundle"]), "base64").toString();
};

test("a root is rotated: believed by all before it is used, used by all before the old one goes", async () => {
  const admission = ["admissionregistration.k8s.io", "MutatingWebhookConfiguration"] as const;
  world.objects(...admission);
  await world.create(webhooks());
  const of = await plane();
  const [listener, other] = [await proxy(of, "listener", true), await proxy(of, "other", false)];
  const before = await ownCa();
  expect(await listener.nextRoots()).toHaveLength(1);
  expect(isUnder(await listener.fetchCertificate(), before)).toBe(true);
  expect(isUnder(await other.fetchCertificate(), before)).toBe(true);

  await ask("start");
  await phase("trust");
  expect(await listener.nextRoots()).toHaveLength(2);
  await world.until("", "ConfigMap", "default/istio-ca-root-cert", (map) => rootsIn(map).length === 2);
  // One has said that it believes both; the other learns of them only with a certificate, which is still of the old CA.
  const both = await other.fetchCertificate();
  expect(isUnder(both, before)).toBe(true);
  expect(parseCertificates(both.at(-1) ?? "")).toHaveLength(2);

  await phase("reissue");
  expect(await listener.nextRoots()).toHaveLength(2);
  expect(isUnder(await listener.fetchCertificate(), before)).toBe(false);
  const fresh = await other.fetchCertificate();
  expect(isUnder(fresh, before)).toBe(false);

  const done = await phase("done");
  expect(Object.keys(decodeSecret(done))).toEqual(["state"]);
  const after = await ownCa();
  expect(isUnder(fresh, after)).toBe(true);
  expect(after.roots).toHaveLength(1);
  const map = await world.until("", "ConfigMap", "default/istio-ca-root-cert", (one) => rootsIn(one).length === 1);
  expect(rootsIn(map)[0]?.raw.equals(after.certificate.raw)).toBe(true);
  await world.until(...admission, "injector", (found) => bundleIn(found) === formatBundle(after.roots));
  // The control plane's own certificate is of the new root: who believes no other is served.
  const newcomer = await proxy(of, "newcomer", true);
  expect(await newcomer.nextRoots()).toEqual([formatBundle(after.roots)]);
});

test("whoever proves nothing, or only asks questions, holds up no step, whatever it leaves unsaid", async () => {
  const of = await plane();
  const stranger = createRpcClient({ target: of.addresses.grpc });
  await world.create({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "asker", namespace: "default" } });
  const order = { namespace: "default", serviceAccount: "asker", audiences: ["istio-ca"] };
  const { token } = await requestToken(world.admin, order);
  const asker = createRpcClient({
    target: of.addresses.secureGrpc,
    tls: () => ({ insecure: true }),
    metadata: async () => ({ authorization: `Bearer ${token}` }),
  });
  for (const [client, name, typeUrl] of [
    [stranger, "stranger", types.proxyConfig],
    [asker, "asker", "istio.io/debug/syncz"],
  ] as const) {
    open.push(() => client.close());
    const stream = await client.stream(deltaMethod);
    const node = { id: `sidecar~10.0.0.9~${name}.default~default.svc.cluster.local` };
    await stream.send(create(DeltaDiscoveryRequestSchema, { node, typeUrl }));
    expect((await stream.messages.next()).value?.typeUrl).toBe(typeUrl);
  }
  await ask("start");
  await phase("done");
});

test("a proxy is known by the Pod that it has proven to be in, whatever it calls itself", async () => {
  const of = await plane();
  const [honest, liar] = [await proxy(of, "honest", false), await proxy(of, "liar", true, "nobody")];
  await Promise.all([honest.fetchCertificate(), liar.fetchCertificate()]);
  await liar.nextRoots();
  await ask("start");
  await liar.nextRoots();
  await phase("trust");
  await honest.fetchCertificate();
  await phase("reissue");
  await liar.fetchCertificate();
  // It has come, under another name than its own; the other one has not.
  const waiting = (map: KubeObject | undefined): unknown =>
    Object.values(readRecord(map?.data)).map((text) => readRecord(parseJson(readText(text)))["waiting"]);
  const left = ["spiffe://cluster.local/ns/default/sa/honest", "honest", "127.0.0.1"];
  await world.until(
    "",
    "ConfigMap",
    rotationKey,
    (map) => JSON.stringify(waiting(map)) === JSON.stringify([[JSON.stringify(left)]]),
  );
  await ask("ignore", ["default/honest"]);
  await phase("done");
});

test("a step is not left while a proxy has not followed, and another control plane goes on from it", async () => {
  const first = await startPlane(world);
  const slow = await proxy(first, "slow", true);
  await slow.nextRoots();
  await slow.fetchCertificate();
  await ask("start");
  await slow.nextRoots();
  await phase("reissue");
  await slow.nextRoots();
  // It believes, but does not come: nothing may go on.
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(stateOf(world.objects("", "Secret").get(rotationKey))["phase"]).toBe("reissue");
  slow.close();
  await first.close();

  const second = await plane({ rotationPace: { stepMs: 50, reconnectMs: 1000, fileLagMs: 0 } });
  const again = await proxy(second, "slow", true);
  const epoch = (secret: KubeObject | undefined): number => Number(stateOf(secret)["epoch"]);
  await world.until("", "Secret", rotationKey, (secret) => epoch(secret) === 1);
  await again.fetchCertificate();
  await phase("done");
});

test("C16: two control planes that start at once have one root, and its rotation waits for the proxies of both", {
  timeout: 240_000,
}, async () => {
  // A step lasts for as long as it takes the other one to say, once a second, whom it waits for.
  const rotationPace = { stepMs: 3000, reconnectMs: 0, fileLagMs: 0 };
  const start = (identity: string): Promise<Discovery> => plane({ identity, leaderElection: true, rotationPace });
  const [one, other] = await Promise.all([start("istiod-1"), start("istiod-2")]);
  const [here, there] = [await proxy(one, "here", true), await proxy(other, "there", true)];
  const before = await ownCa();
  const state = (): unknown => stateOf(world.objects("", "Secret").get(rotationKey))["phase"];
  const waiting = (): readonly unknown[] =>
    ["istiod-1", "istiod-2"].map((replica) => {
      const text = readText(readRecord(world.objects("", "ConfigMap").get(rotationKey)?.data)[replica]);
      return text === "" ? undefined : readRecord(parseJson(text))["count"];
    });
  for (const each of [here, there]) {
    expect(await each.nextRoots()).toEqual([formatBundle(before.roots)]);
    expect(isUnder(await each.fetchCertificate(), before)).toBe(true);
  }
  await ask("start");
  for (const each of [here, there]) expect(await each.nextRoots()).toHaveLength(2);
  await expect.poll(state, patient).toBe("reissue");
  for (const each of [here, there]) expect(await each.nextRoots()).toHaveLength(2);
  const fresh = await here.fetchCertificate();
  expect(isUnder(fresh, before)).toBe(false);
  await expect.poll(waiting, patient).toEqual([0, 1]);
  // All that time would have been enough to go on, were it not for the other one's proxy.
  await new Promise((resolve) => setTimeout(resolve, rotationPace.stepMs + 1000));
  expect(state()).toBe("reissue");
  const last = await there.fetchCertificate();
  await expect.poll(state, patient).toBe("done");
  const after = await ownCa();
  expect([isUnder(fresh, after), isUnder(last, after)]).toEqual([true, true]);
});

test("a control plane that serves proxies and says nothing of the step holds it, and is told of", async () => {
  const slices = kubeKinds.endpointSlices;
  const ref = { name: "istiod-1", namespace: system };
  const endpointsAt = (...all: readonly string[]) =>
    all.map((one) => ({ addresses: [one], conditions: { ready: true } }));
  const slice = (name: string, addressType: string, ...all: readonly string[]): KubeObject => ({
    ...{
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      addressType,
      endpoints: endpointsAt(...all),
      ports: [],
    },
    metadata: { name, namespace: system, labels: { "kubernetes.io/service-name": "istiod" } },
  });
  // The first one has an address of each family.
  await world.admin.create(slices, slice("istiod-1", "IPv4", "10.0.0.1", "10.0.0.2"));
  await world.admin.create(slices, slice("istiod-2", "IPv6", "fd00::1"));
  const told = Promise.withResolvers<void>();
  const write = (line: string): void => {
    if (line.includes("the root rotation waits: 1 of 2 control planes are behind")) told.resolve();
  };
  const of = await plane({ log: createLogger({ write, now: () => new Date() }) });
  const listener = await proxy(of, "listener", true);
  await listener.nextRoots();
  await listener.fetchCertificate();
  await ask("start");
  // All that are known here believe the new root; what the other one's proxies believe nobody knows.
  await listener.nextRoots();
  await told.promise;
  expect(stateOf(world.objects("", "Secret").get(rotationKey))["phase"]).toBe("trust");
  await world.admin.patch(slices, ref, "merge", { endpoints: endpointsAt("10.0.0.1") });
  await phase("reissue");
  await listener.fetchCertificate();
  await phase("done");
});

test("rolled back, all come back to the old root and the new one goes", async () => {
  const of = await plane();
  // The second one does not come for a new certificate, so that the rotation stays where it is.
  const [listener, late] = [await proxy(of, "listener", true), await proxy(of, "late", true)];
  await listener.fetchCertificate();
  await late.fetchCertificate();
  const before = await ownCa();
  await ask("start");
  await phase("reissue");
  expect(isUnder(await listener.fetchCertificate(), before)).toBe(false);
  await ask("rollback");
  await world.until("", "Secret", rotationKey, (secret) => stateOf(secret)["isRollback"] === true);
  await expect.poll(async () => isUnder(await late.fetchCertificate(), before), patient).toBe(true);
  await expect.poll(async () => isUnder(await listener.fetchCertificate(), before), patient).toBe(true);
  await phase("done");
  expect((await ownCa()).certificate.raw.equals(before.certificate.raw)).toBe(true);
  await world.until("", "ConfigMap", "default/istio-ca-root-cert", (map) => {
    const roots = rootsIn(map);
    return roots.length === 1 && roots[0]?.raw.equals(before.certificate.raw) === true;
  });
});

test("Secret cacerts counts as soon as it changes: a new signer at once, a new root step by step, a broken one never", async () => {
  const of = await plane();
  const listener = await proxy(of, "listener", true);
  await listener.nextRoots();
  const own = await ownCa();
  await listener.fetchCertificate();
  const ref = { name: "cacerts", namespace: system };
  const theirs = await createSelfSignedBundle({ organization: "theirs", now: new Date() });
  const put = async (data: Readonly<Record<string, string>>): Promise<void> => {
    await world.admin.delete(kubeKinds.secrets, ref).catch(() => {});
    await world.admin.create(kubeKinds.secrets, {
      ...{ apiVersion: "v1", kind: "Secret", metadata: ref, type: "Opaque" },
      data: encodeSecret(data),
    });
  };
  await put({ ...formatSigningBundle(theirs) });
  await phase("reissue");
  await expect.poll(async () => isUnder(await listener.fetchCertificate(), theirs), patient).toBe(true);
  await phase("done");
  expect((await ownCa()).certificate.raw.equals(own.certificate.raw)).toBe(true);

  // A key that is not the certificate's.
  await put({ ...formatSigningBundle(theirs), "ca-key.pem": formatSigningBundle(own)["ca-key.pem"] });
  const events = async (): Promise<readonly string[]> =>
    (await world.admin.list(kubeKinds.events, { namespace: system })).items.map((one) => readText(one["message"]));
  await expect
    .poll(events, patient)
    .toContainEqual(expect.stringContaining("ca-key.pem is not the key of ca-cert.pem"));
  expect(isUnder(await listener.fetchCertificate(), theirs)).toBe(true);

  // An intermediate under the root that all believe.
  const key = await generateKey();
  const signer = issueCertificate({
    ...{ profile: "ca", subject: { commonName: "between" }, publicKey: key.publicKey },
    ...{ signer: { certificate: theirs.certificate, key: theirs.key }, now: new Date(), ttlMs: 3_600_000 },
  });
  const bundle = { certificate: signer, key: key.privateKey, chain: [signer], roots: theirs.roots };
  await put({ ...formatSigningBundle(bundle) });
  await expect.poll(async () => (await listener.fetchCertificate()).length, patient).toBe(3);
  const chainEnds = Math.floor(signer.validToDate.getTime() / 1000);
  expect(await scrape(of)).toContain(`\ncitadel_server_cert_chain_expiry_timestamp ${chainEnds}\n`);
  expect(await scrape(of)).toMatch(/^citadel_server_cert_chain_expiry_seconds 3[45]\d\d\.?\d*$/m);

  // The root itself again: there is no chain whose end could be told.
  await put({ ...formatSigningBundle(theirs) });
  await expect.poll(async () => (await listener.fetchCertificate()).length, patient).toBe(2);
  expect(await scrape(of)).not.toMatch(/^citadel_server_cert_chain/m);
});
