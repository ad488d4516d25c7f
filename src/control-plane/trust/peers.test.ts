/** A control plane with a CA that users brought, whose key the test has: which certificates are good for another one at 15012. */
import type { KeyObject, X509Certificate } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createSelfSignedBundle, formatSigningBundle, type SigningBundle } from "../../ca/index.ts";
import { kubeKinds } from "../../kube/index.ts";
import { readRecord } from "../../lib/index.ts";
import { contextTag, encode, oid, sequence, utf8String } from "../../pki/der.ts";
import {
  type CertificateOptions,
  formatBundle,
  generateKey,
  issueCertificate,
  type KeyPair,
  parseCertificate,
} from "../../pki/index.ts";
import { oids } from "../../pki/oids.ts";
import { loadIndependentX509, revoke } from "../../pki/testing.ts";
import { type ControlledApi, startControlledApi } from "../controllers/testing.ts";
import type { Discovery } from "../discovery.ts";
import { allowSecrets } from "../testing.ts";
import { encodeSecret } from "./secret-data.ts";
import { renewBy, startPlane } from "./testing.ts";

let world: ControlledApi;
let plane: Discovery;
let ca: SigningBundle;
let key: KeyPair;
const meshConfig = JSON.stringify({ trustDomain: "cluster.local", trustDomainAliases: ["former.local"] });

beforeAll(async () => {
  world = await startControlledApi();
  await allowSecrets(world);
  [ca, key] = [await createSelfSignedBundle({ organization: "theirs", now: new Date() }), await generateKey()];
  const metadata = { namespace: "istio-system" };
  await world.create({
    ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { ...metadata, name: "istio" } },
    data: { mesh: meshConfig },
  });
  await world.create({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "a", namespace: "default" } });
  await world.create({
    ...{ apiVersion: "v1", kind: "Secret", metadata: { ...metadata, name: "cacerts" }, type: "Opaque" },
    data: encodeSecret({ ...formatSigningBundle(ca) }),
  });
  plane = await startPlane(world);
});
afterAll(async () => {
  await plane.close();
  await world.close();
});

function issue(more: Partial<CertificateOptions> = {}, uri = "spiffe://cluster.local/ns/default/sa/a") {
  return issueCertificate({
    ...{ profile: "leaf", altNames: [{ type: "uri", value: uri }], publicKey: key.publicKey },
    ...{ signer: ca, now: new Date(), ttlMs: 3_600_000 },
    ...more,
  });
}
const shownBy = (...chain: readonly X509Certificate[]) =>
  renewBy(plane, {
    chain: formatBundle(chain),
    key,
    roots: formatSigningBundle(ca)["root-cert.pem"],
  });

test("a certificate of ours renews itself, also in a trust domain that the mesh had", async () => {
  expect(await shownBy(issue())).toHaveLength(2);
  expect(await shownBy(issue({}, "spiffe://former.local/ns/default/sa/a"))).toHaveLength(2);
});

describe("C17: refused at 15012", () => {
  const dayAgo = new Date(Date.now() - 86_400_000);
  test.each<[string, () => ReturnType<typeof issue>]>([
    ["one that expired", () => issue({ now: dayAgo })],
    ["one of another trust domain under the same root", () => issue({}, "spiffe://other.local/ns/default/sa/a")],
    ["one for servers alone", () => issue({ profile: "server" })],
    ["a CA's", () => issue({ profile: "ca", subject: { commonName: "x" } })],
    ["one with two names", () => issue({ altNames: ["a", "b"].map(uriOf) })],
    ["one of an account that there is not", () => issue({}, "spiffe://cluster.local/ns/default/sa/nobody")],
  ])("%s", async (_, make) => {
    await expect(shownBy(make())).rejects.toThrow();
  });

  const [uri, own] = [6, "spiffe://cluster.local/ns/default/sa/a"];
  test.each<[string, readonly Buffer[]]>([
    ["a zero byte at its end", [altName(uri, `${own}\0`)]],
    ["a zero byte inside", [altName(uri, `${own}\0.evil.example`)]],
    ["letters that only look alike", [altName(uri, own.replace("sa/a", "sa/\u0430"))]],
    ["no letters", [altName(uri, "")]],
    ["none at all", []],
    ["that of a form of another's making beside it", [altName(uri, own), otherName]],
  ])("R35: one whose name has %s", async (_, names) => {
    await expect(shownBy(await issueByHand(names))).rejects.toThrow();
  });
  test("made by hand, with a good name, it is good", async () => {
    expect(await shownBy(await issueByHand([altName(uri, own)]))).toHaveLength(2);
  });

  test("one that its CA has revoked, from the moment that ca-crl.pem says so; and every namespace is told", async () => {
    const [bad, good] = [issue(), issue()];
    expect(await shownBy(bad)).toHaveLength(2);
    const crl = revoke(ca, [bad]);
    await world.admin.patch(kubeKinds.secrets, { name: "cacerts", namespace: "istio-system" }, "merge", {
      data: encodeSecret({ "ca-crl.pem": crl }),
    });
    const isRefused = (): Promise<boolean> =>
      shownBy(bad).then(
        () => false,
        () => true,
      );
    await expect.poll(isRefused, { timeout: 60_000 }).toBe(true);
    expect(await shownBy(good)).toHaveLength(2);
    world.objects("", "ConfigMap");
    await world.until("", "ConfigMap", "default/istio-ca-crl", (map) => readRecord(map?.data)["ca-crl.pem"] === crl);
  });

  test("one under an intermediate that is revoked, whatever else it shows; not one under its successor", async () => {
    const department = async () => {
      const { publicKey, privateKey } = await generateKey();
      const subject = { commonName: "department" };
      const certificate = issue({ profile: "ca", subject, altNames: [], publicKey });
      return { certificate, key: privateKey, chain: [certificate], roots: ca.roots };
    };
    const [former, present] = [await department(), await department()];
    const change = (files: Readonly<Record<string, string>>) =>
      world.admin.patch(kubeKinds.secrets, { name: "cacerts", namespace: "istio-system" }, "merge", {
        data: encodeSecret(files),
      });
    const isRefused = (...chain: readonly X509Certificate[]): Promise<boolean> =>
      shownBy(...chain).then(
        () => false,
        () => true,
      );
    const leaf = issue({ signer: former });
    await change({ ...formatSigningBundle(former), "ca-crl.pem": "" });
    await expect.poll(() => isRefused(leaf, former.certificate), { timeout: 60_000 }).toBe(false);
    await change({ ...formatSigningBundle(present), "ca-crl.pem": revoke(ca, [former.certificate]) });
    await expect.poll(() => isRefused(leaf, former.certificate), { timeout: 60_000 }).toBe(true);
    expect(await isRefused(leaf, present.certificate, former.certificate)).toBe(true);
    expect(await isRefused(leaf, former.certificate, present.certificate)).toBe(true);
    const successor = issue({ signer: present });
    expect(await shownBy(successor, present.certificate)).toHaveLength(3);
    // What was issued before a change of the intermediate is as good after it: VMs have nothing else to come with.
    const next = await department();
    await change(formatSigningBundle(next));
    const isNextRefused = () => isRefused(issue({ signer: next }), next.certificate);
    await expect.poll(isNextRefused, { timeout: 60_000 }).toBe(false);
    expect(await isRefused(successor, present.certificate)).toBe(false);
    expect(await isRefused(leaf, former.certificate)).toBe(true);
  });
});

const altName = (tag: number, text: string): Buffer => encode(contextTag(tag, false), Buffer.from(text));
/** A name of a Windows user. */
const otherName = encode(
  contextTag(0, true),
  oid("1.3.6.1.4.1.311.20.2.3"),
  encode(contextTag(0, true), utf8String("spiffe://cluster.local/ns/istio-system/sa/istiod")),
);

/** By another library, for our own refuses such names. */
async function issueByHand(names: readonly Buffer[]): Promise<X509Certificate> {
  const x509 = await loadIndependentX509();
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const { subtle } = globalThis.crypto;
  const der = (of: KeyObject, type: "pkcs8" | "spki"): Buffer => of.export({ type, format: "der" } as never) as never;
  const made = await x509.X509CertificateGenerator.create({
    ...{ serialNumber: "0102", issuer: ca.certificate.subject.replaceAll("\n", ", "), subject: "" },
    ...{ notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) },
    signingKey: await subtle.importKey("pkcs8", der(ca.key, "pkcs8"), algorithm, false, ["sign"]),
    publicKey: await subtle.importKey("spki", der(key.publicKey, "spki"), algorithm, true, ["verify"]),
    signingAlgorithm: algorithm,
    extensions: [
      new x509.ExtendedKeyUsageExtension([oids.serverAuth, oids.clientAuth]),
      ...(names.length === 0 ? [] : [new x509.Extension(oids.subjectAltName, true, sequence(...names))]),
    ],
  });
  return parseCertificate(made.toString("pem"));
}

function uriOf(account: string) {
  return { type: "uri", value: `spiffe://cluster.local/ns/default/sa/${account}` } as const;
}
