/** CAs elsewhere: signers behind the Kubernetes API, which the test plays, and one that gives the control plane its files. */
import { connect } from "node:tls";
import { create } from "@bufbuild/protobuf";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { controlPlane } from "../../apiserver/index.ts";
import { createSelfSignedBundle, type SigningBundle } from "../../ca/index.ts";
import { IstioCertificateRequestSchema, IstioCertificateService } from "../../gen/istio/auth_pb.js";
import { kubeKinds, requestToken } from "../../kube/index.ts";
import { FairleadError, readList, readRecord, readText } from "../../lib/index.ts";
import {
  chainsTo,
  createCsr,
  formatBundle,
  formatCertificate,
  formatPrivateKey,
  generateKey,
  issueCertificate,
  type KeyPair,
  parseCertificate,
  parseCertificates,
  parseCsr,
  readCsrNames,
  type SubjectAltName,
  uriNames,
} from "../../pki/index.ts";
import { createRpcClient, protoMethod, status } from "../../rpc/index.ts";
import { type ControlledApi, startControlledApi } from "../controllers/testing.ts";
import type { Discovery } from "../discovery.ts";
import { allowSecrets, scrape } from "../testing.ts";
import { startPlane } from "./testing.ts";

const method = protoMethod(IstioCertificateService.method.createCertificate);
const uriOf = (value: string): SubjectAltName => ({ type: "uri", value });
const own: SubjectAltName = { type: "uri", value: "spiffe://cluster.local/ns/default/sa/a" };
const requests = kubeKinds.certificateSigningRequests;
const cas = new Map<string, SigningBundle>();
let world: ControlledApi;
let token: string;
let key: KeyPair;
const seen: string[] = [];
/** What signers make of a certificate that do not go by the request alone. */
const willful = new Map<string, Partial<Parameters<typeof issueCertificate>[0]>>([
  ["example.com/false", { altNames: [uriOf("spiffe://cluster.local/ns/default/sa/b")] }],
  ["example.com/more", { altNames: [own, { type: "dns", value: "istiod.istio-system.svc" }] }],
  ["example.com/ca", { profile: "ca" }],
  ["example.com/long", { ttlMs: 91 * 86_400_000 }],
  ["example.com/brief", { ttlMs: 6000 }],
]);

beforeAll(async () => {
  world = await startControlledApi();
  await allowSecrets(world);
  await allowRequests();
  for (const name of ["example.com/usual", "example.com/special", ...willful.keys()])
    cas.set(name, await createSelfSignedBundle({ organization: name, now: new Date() }));
  playSigners().catch((error: unknown) => {
    if (!world.stop.signal.aborted) throw error;
  });
  const metadata = { name: "istio", namespace: "istio-system" };
  const mesh = JSON.stringify({
    caCertificates: ["example.com/usual", "example.com/special", "example.com/brief"].map((name) => ({
      pem: rootOf(name),
      certSigners: [name],
    })),
  });
  await world.create({ apiVersion: "v1", kind: "ConfigMap", metadata, data: { mesh } });
  await world.create({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "a", namespace: "default" } });
  const order = { namespace: "default", serviceAccount: "a", audiences: ["istio-ca"] };
  token = (await requestToken(world.admin, order)).token;
  key = await generateKey();
});
afterAll(() => world.close());

/** What istiod's chart gives where EXTERNAL_CA is set. */
async function allowRequests(): Promise<void> {
  const [apiGroups, apiVersion] = [["certificates.k8s.io"], "rbac.authorization.k8s.io/v1"];
  const metadata = { name: "istiod-external-ca" };
  const resources = ["certificatesigningrequests", "certificatesigningrequests/approval"];
  const rules = [
    { apiGroups, resources, verbs: ["update", "create", "get", "delete", "watch"] },
    { apiGroups, resources: ["signers"], resourceNames: ["example.com/*"], verbs: ["approve"] },
  ];
  const rbac = "/apis/rbac.authorization.k8s.io/v1";
  await world.admin.raw("POST", `${rbac}/clusterroles`, { apiVersion, kind: "ClusterRole", metadata, rules });
  await world.admin.raw("POST", `${rbac}/clusterrolebindings`, {
    ...{ apiVersion, kind: "ClusterRoleBinding", metadata },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: metadata.name },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: controlPlane.user }],
  });
}

/** Signs what is approved, as the request says where it is not willful; unknown ones fail. */
async function playSigners(): Promise<void> {
  for await (const { type, object } of world.admin.watch(requests, { signal: world.stop.signal })) {
    const request = readRecord(object);
    const [spec, { conditions, certificate }] = [readRecord(request.spec), readRecord(request.status)];
    const isApproved = readList(conditions).some((one) => readRecord(one).type === "Approved");
    if (type === "DELETED" || !isApproved || certificate !== undefined) continue;
    const signerName = readText(spec.signerName);
    seen.push(`${signerName} for ${readText(spec.username)}: ${readList(spec.usages).map(readText).join(", ")}`);
    const csr = Buffer.from(readText(spec.request), "base64").toString();
    const { uris } = readCsrNames(csr);
    const names = uris.length === 0 ? [{ type: "dns", value: "istiod.istio-system.svc" } as const] : uris.map(uriOf);
    const signer = cas.get(signerName);
    const leaf =
      signer &&
      issueCertificate({
        ...{ profile: "leaf", now: new Date(), ttlMs: 3_600_000, signer, publicKey: parseCsr(csr).publicKey },
        ...{ altNames: names, ...willful.get(signerName) },
      });
    const ref = { name: readText(readRecord(request.metadata).name) };
    const answer = leaf
      ? { certificate: Buffer.from(formatBundle([leaf, ...(signer?.roots ?? [])])).toString("base64") }
      : { conditions: [{ type: "Failed", status: "True", reason: "Unknown", message: "nobody of that name" }] };
    // Whoever asked may have given up meanwhile, and taken the request away.
    await world.admin.patch(requests, ref, "merge", { status: answer }, { subresource: "status" }).catch(unlessGone);
  }
}

function unlessGone(error: unknown): void {
  if (!(error instanceof FairleadError && error.code === "not-found")) throw error;
}
const rootOf = (name: string): string => formatBundle(cas.get(name)?.roots ?? []);

interface Asked {
  readonly altNames?: readonly SubjectAltName[];
  readonly certSigner?: string;
  readonly certificate?: string;
  readonly seconds?: number;
  readonly roots: string;
}

async function ask(plane: Discovery, { altNames = [own], certSigner = "", certificate, seconds = 0, roots }: Asked) {
  const client = createRpcClient({
    target: plane.addresses.secureGrpc,
    tls: () => ({
      ca: roots,
      serverName: "istiod.istio-system.svc",
      ...(certificate === undefined ? {} : { cert: certificate, key: formatPrivateKey(key.privateKey) }),
    }),
    metadata: async (): Promise<Readonly<Record<string, string>>> =>
      certificate === undefined ? { authorization: `Bearer ${token}` } : {},
  });
  const csr = createCsr({ key, altNames });
  const validityDuration = BigInt(seconds);
  const request = create(IstioCertificateRequestSchema, {
    csr,
    validityDuration,
    metadata: { CertSigner: certSigner },
  });
  return client
    .unary(method, request)
    .then(({ certChain }) => certChain)
    .finally(() => client.close());
}

const external = { signerName: "example.com/usual", domain: "example.com", rootsPem: "", servingSigner: "" };
const planes: Discovery[] = [];
afterEach(async () => {
  await Promise.all(planes.splice(0).map((plane) => plane.close()));
});
async function start(more: Parameters<typeof startPlane>[1]): Promise<Discovery> {
  const plane = await startPlane(world, more);
  planes.push(plane);
  return plane;
}
const ownRoots = async (): Promise<string> => {
  const secret = await world.admin.get(kubeKinds.secrets, { name: "istio-ca-secret", namespace: "istio-system" });
  return Buffer.from(readText(readRecord(secret.data)["root-cert.pem"]), "base64").toString();
};

describe("EXTERNAL_CA=ISTIOD_RA_KUBERNETES_API", () => {
  test("a request is signed by the signer it names, comes with that signer's root, and leaves no object", async () => {
    const plane = await start({ externalCa: external });
    const roots = await ownRoots();
    for (const [certSigner, name] of [
      ["", "example.com/usual"],
      ["special", "example.com/special"],
    ] as const) {
      seen.length = 0;
      const [leaf = "", root = "", ...more] = await ask(plane, { certSigner, roots });
      expect(more).toEqual([]);
      expect(root).toBe(rootOf(name));
      expect(uriNames(parseCertificate(leaf))).toEqual([own.value]);
      expect(chainsTo(parseCertificate(leaf), [], cas.get(name)?.roots ?? [], new Date())).toBe(true);
      expect(seen).toEqual([
        `${name} for ${controlPlane.user}: digital signature, key encipherment, server auth, client auth`,
      ]);
      // Its holder comes again by the certificate alone.
      expect(await ask(plane, { certSigner, roots, certificate: leaf })).toHaveLength(2);
    }
    expect((await world.admin.list(requests)).items).toEqual([]);
  });

  test.each<[string, readonly SubjectAltName[]]>([
    ["another's name", [uriOf("spiffe://cluster.local/ns/default/sa/b")]],
    ["a second name", [own, uriOf("spiffe://cluster.local/ns/default/sa/b")]],
    ["a DNS name as well", [own, { type: "dns", value: "istiod.istio-system.svc" }]],
    ["no name", []],
  ])("C01: a request for %s never reaches the signer", async (_, altNames) => {
    const plane = await start({ externalCa: external });
    seen.length = 0;
    await expect(ask(plane, { altNames, roots: await ownRoots() })).rejects.toMatchObject({
      status: status.invalidArgument,
    });
    expect(seen).toEqual([]);
  });

  test("a life of less than ten minutes, which Kubernetes refuses, is refused here and made no longer", async () => {
    const plane = await start({ externalCa: external });
    const roots = await ownRoots();
    seen.length = 0;
    await expect(ask(plane, { roots, seconds: 599 })).rejects.toMatchObject({ status: status.invalidArgument });
    expect(seen).toEqual([]);
    expect(await ask(plane, { roots, seconds: 600 })).toHaveLength(2);
  });

  test("a signer that refuses, or whose certificate has other names, is a CA's or lives too long, gives nothing", async () => {
    const plane = await start({ externalCa: external });
    const roots = await ownRoots();
    for (const certSigner of ["nobody", "false", "more", "ca", "long"])
      await expect(ask(plane, { certSigner, roots }), certSigner).rejects.toMatchObject({ status: status.internal });
    expect((await world.admin.list(requests)).items).toEqual([]);
  });

  test("with PILOT_CERT_PROVIDER=k8s.io/NAME the signer vouches for the control plane too, and there is no other CA", async () => {
    const ref = { name: "istio-ca-secret", namespace: "istio-system" };
    await world.admin.delete(kubeKinds.secrets, ref).catch(() => {});
    const plane = await start({ hasOwnCa: false, externalCa: { ...external, servingSigner: "example.com/usual" } });
    const roots = rootOf("example.com/usual");
    expect(await ask(plane, { roots })).toHaveLength(2);
    expect(await world.admin.find(kubeKinds.secrets, ref)).toBeUndefined();
    world.objects("", "ConfigMap");
    await world.until(
      "",
      "ConfigMap",
      "default/istio-ca-root-cert",
      (map) => readRecord(map?.data)["root-cert.pem"] === roots,
    );
  });

  test("where nobody has told its signer's root, webhook configurations stay as they are, which is counted", async () => {
    const metadata = { name: "rootless", labels: { "istio.io/rev": "default" } };
    const webhook = {
      ...{ name: "rev.validation.istio.io", clientConfig: { url: "https://127.0.0.1:1/validate" } },
      ...{ failurePolicy: "Ignore", sideEffects: "None", admissionReviewVersions: ["v1"], rules: [] },
    };
    const [kind, webhooks] = ["ValidatingWebhookConfiguration", [webhook]];
    const created = await world.create({ apiVersion: "admissionregistration.k8s.io/v1", kind, metadata, webhooks });
    const plane = await start({ hasOwnCa: false, externalCa: { ...external, servingSigner: "example.com/long" } });
    await expect.poll(() => scrape(plane)).toMatch(/^galley_validation_config_load_error\{reason="no_root"\} [1-9]/m);
    const now = await world.admin.get(kubeKinds.validatingWebhooks, { name: "rootless" });
    expect(now.metadata.resourceVersion).toBe(created.metadata.resourceVersion);
    await world.admin.delete(kubeKinds.validatingWebhooks, { name: "rootless" });
  });
});

test("the control plane's own certificate is renewed in time, however short a signer makes it", async () => {
  const plane = await start({ hasOwnCa: false, externalCa: { ...external, servingSigner: "example.com/brief" } });
  const roots = rootOf("example.com/brief");
  const first = await shownSerial(plane, roots);
  expect(first).toBeDefined();
  await expect.poll(() => shownSerial(plane, roots)).not.toBe(first);
});

describe("ENABLE_CA_SERVER=false, as with istio-csr", () => {
  test("the certificate comes from files and is renewed with them; nobody is given one here", async () => {
    const ca = await createSelfSignedBundle({ organization: "cert-manager", now: new Date() });
    const pair = await generateKey();
    const serve = (): { cert: string; key: string; roots: string } => ({
      cert: formatCertificate(
        issueCertificate({
          ...{ profile: "server", altNames: [{ type: "dns", value: "istiod.istio-system.svc" }], signer: ca },
          ...{ publicKey: pair.publicKey, now: new Date(), ttlMs: 3_600_000 },
        }),
      ),
      key: formatPrivateKey(pair.privateKey),
      roots: formatBundle(ca.roots),
    });
    let files: ReturnType<typeof serve> | { cert: "junk"; key: "junk"; roots: "junk" } = serve();
    let look = (): void => {};
    const watch = (changed: () => void): (() => void) => {
      look = changed;
      return () => {};
    };
    const servingFiles = { place: "files", read: () => files, watch };
    const plane = await start({ hasOwnCa: false, servingFiles });
    const roots = formatBundle(ca.roots);
    await expect(ask(plane, { roots })).rejects.toMatchObject({ status: status.unimplemented });
    const first = await shownSerial(plane, roots);
    files = { cert: "junk", key: "junk", roots: "junk" };
    look();
    expect(await shownSerial(plane, roots)).toBe(first);
    files = serve();
    look();
    await expect.poll(() => shownSerial(plane, roots)).toBe(parseCertificate(files.cert).serialNumber);
    expect(parseCertificates(roots)).toHaveLength(1);
  });

  test("without such files it does not start", async () => {
    await expect(start({ hasOwnCa: false })).rejects.toThrow("nobody who signs for the control plane");
  });
});

function shownSerial(plane: Discovery, ca: string): Promise<string | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
  const { host, port } = plane.addresses.secureGrpc;
  const socket = connect({ host, port, ca, servername: "istiod.istio-system.svc", ALPNProtocols: ["h2"] });
  socket.once("secureConnect", () => resolve(socket.getPeerX509Certificate()?.serialNumber));
  socket.once("error", reject);
  return promise.finally(() => socket.destroy());
}
