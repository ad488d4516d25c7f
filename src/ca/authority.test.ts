import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { bitString, booleanTrue, contextTag, encode, oid, sequence, unsignedInteger } from "../pki/der.ts";
import { createCsr, generateKey, issueCertificate, type KeyPair, parseCertificate, uriNames } from "../pki/index.ts";
import { oids } from "../pki/oids.ts";
import { csrWithExtensions, loadIndependentX509 } from "../pki/testing.ts";
import { controlPlaneNames, createCertificateAuthority } from "./authority.ts";
import { authorizeIssuance } from "./authorize.ts";
import { createRateLimit } from "./rate-limit.ts";
import { type CaSecretStore, loadOrCreateCa } from "./secret-store.ts";
import {
  type CaFiles,
  createSelfSignedBundle,
  formatSigningBundle,
  parseSigningBundle,
  type SigningBundle,
} from "./signing-bundle.ts";

const now = new Date("2026-11-15T06:00:00Z");
const day = 86_400_000;
const identity = { trustDomain: "cluster.local", namespace: "foo", serviceAccount: "bar" };

let root: SigningBundle;
let key: KeyPair;
beforeAll(async () => {
  root = await createSelfSignedBundle({ organization: "cluster.local", now });
  key = await generateKey();
});

async function createIntermediate(): Promise<SigningBundle> {
  const middle = await generateKey("rsa-2048");
  const certificate = issueCertificate({
    profile: "ca",
    subject: { organization: "middle" },
    publicKey: middle.publicKey,
    signer: root,
    now,
    ttlMs: 365 * day,
  });
  return { certificate, key: middle.privateKey, chain: [certificate], roots: root.roots };
}

/** A secret store in memory with the one property that counts: create only where there is none. */
function createStore(): CaSecretStore & { data: Readonly<Record<string, string>> | undefined; creates: number } {
  const store = {
    data: undefined as Readonly<Record<string, string>> | undefined,
    creates: 0,
    get: async () => store.data,
    create: async (data: Readonly<Record<string, string>>) => {
      store.creates++;
      if (store.data) return "exists" as const;
      store.data = data;
      return "created" as const;
    },
  };
  return store;
}

describe("the authority", () => {
  test("C01: the certificate has the caller's identity alone, whatever the request names", async () => {
    const authority = createCertificateAuthority({ bundle: root, now: () => now });
    const csr = createCsr({
      key,
      subject: { commonName: "admin", organization: "system:masters" },
      altNames: [
        { type: "uri", value: "spiffe://cluster.local/ns/istio-system/sa/istiod" },
        { type: "dns", value: "istiod.istio-system.svc" },
        { type: "ip", value: "10.0.0.1" },
      ],
    });
    const issued = authority.sign(csr, identity, 0);
    const certificate = parseCertificate(issued.chain[0] ?? "");
    expect(issued.certificate).toMatchObject({
      serialNumber: certificate.serialNumber,
      validToDate: certificate.validToDate,
    });
    expect(certificate.subjectAltName).toBe("URI:spiffe://cluster.local/ns/foo/sa/bar");
    expect(certificate.subject ?? "").toBe("");
    expect(certificate.ca).toBe(false);
    expect(certificate.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"]);
  });

  const tag = (number: number, text: string): Buffer => encode(contextTag(number, false), Buffer.from(text));
  const altNames = sequence(
    tag(6, "spiffe://cluster.local/ns/x/sa/y"),
    tag(2, "a.example"),
    tag(1, "a@b.example"),
    tag(7, "\x0a\x00\x00\x01"),
  );
  const caTrue = sequence(booleanTrue(), unsignedInteger(Buffer.of(9)));
  const hostile: readonly [string, readonly (readonly [string, Buffer])[]][] = [
    ["C01: other names, an address and an email", [[oids.subjectAltName, altNames]]],
    ["C02: to be a CA, with a path length", [[oids.basicConstraints, caTrue]]],
    ["C02: to sign certificates and lists", [[oids.keyUsage, bitString(Buffer.of(0x06), 1)]]],
    ["C02: constraints on names", [["2.5.29.30", sequence(encode(contextTag(0, true), sequence(tag(2, "x"))))]]],
    ["C02: another use", [[oids.extendedKeyUsage, sequence(oid("1.3.6.1.5.5.7.3.3"))]]],
    ["C02: the same twice", [1, 2].map(() => [oids.basicConstraints, caTrue] as const)],
    ["C02: a thousand", Array.from({ length: 1000 }, () => ["2.5.29.19", Buffer.alloc(0)] as const)],
  ];
  test.each(hostile)("%s: nothing of what is asked for is in the certificate", async (_, extensions) => {
    const x509 = await loadIndependentX509();
    const authority = createCertificateAuthority({ bundle: root, now: () => now });
    const issued = (csr: string) => {
      const certificate = new x509.X509Certificate(authority.sign(csr, identity, 0).chain[0] ?? "");
      const all = certificate.extensions.map(({ type, critical, value }) => [type, critical, Buffer.from(value)]);
      return { subject: certificate.subject, all };
    };
    expect(issued(csrWithExtensions(key, extensions))).toEqual(issued(createCsr({ key })));
  });

  test("the answer is the leaf, each intermediate by itself, the roots last", async () => {
    const bundle = await createIntermediate();
    const { chain, roots } = createCertificateAuthority({ bundle, now: () => now }).sign(
      createCsr({ key }),
      identity,
      0,
    );
    expect(chain).toHaveLength(2);
    expect(chain.map((pem) => parseCertificate(pem).issuer)).toEqual(["O=middle", "O=cluster.local"]);
    expect(parseCertificate(roots).raw.equals(root.certificate.raw)).toBe(true);
  });

  describe("C06: the life of a certificate", () => {
    const life = (ttlMs: number): number => {
      const { certificate } = createCertificateAuthority({ bundle: root, now: () => now }).sign(
        createCsr({ key }),
        identity,
        ttlMs,
      );
      return certificate.validToDate.getTime() - now.getTime();
    };
    test.each([0, -1, Number.NEGATIVE_INFINITY, Number.NaN])("asked %d gives the default of a day", (asked) =>
      expect(life(asked)).toBe(day),
    );
    test("what is asked for is given, up to 90 days", () => expect(life(90 * day)).toBe(90 * day));
    test.each([90 * day + 1000, Number(2n ** 63n - 1n) * 1000, Number.POSITIVE_INFINITY])(
      "asked %d is refused",
      (asked) => expect(() => life(asked)).toThrow("exceeds the maximum"),
    );
    test("it never goes past the signer's end", async () => {
      const bundle = await createSelfSignedBundle({ organization: "x", now, ttlMs: 3_600_000 });
      const { certificate } = createCertificateAuthority({ bundle, now: () => now }).sign(
        createCsr({ key }),
        identity,
        day,
      );
      expect(certificate.validToDate).toEqual(bundle.certificate.validToDate);
    });
  });

  describe("C12: identities that are not exactly ns/sa are refused", () => {
    const bad = [
      { ...identity, namespace: "" },
      { ...identity, serviceAccount: "" },
      { ...identity, serviceAccount: "a/b" },
      { ...identity, namespace: ".." },
      { ...identity, namespace: "a%2fb" },
      { ...identity, serviceAccount: "аdmin" },
      { ...identity, trustDomain: "Cluster.Local" },
      { ...identity, serviceAccount: "x".repeat(300) },
      { ...identity, serviceAccount: "a\nb" },
    ];
    test.each(bad)("%j", (wrong) => {
      const authority = createCertificateAuthority({ bundle: root, now: () => now });
      expect(() => authority.sign(createCsr({ key }), wrong, 0)).toThrow("identity");
      expect(authorizeIssuance({ caller: wrong, impersonated: "" })).toHaveProperty("refused");
    });
    test("no random text makes a name of another form", () => {
      const authority = createCertificateAuthority({ bundle: root, now: () => now });
      const csr = createCsr({ key });
      fc.assert(
        fc.property(
          fc.string({ unit: "binary", maxLength: 40 }),
          fc.string({ unit: "grapheme", maxLength: 40 }),
          (namespace, serviceAccount) => {
            try {
              const [leaf = ""] = authority.sign(csr, { ...identity, namespace, serviceAccount }, 0).chain;
              const names = uriNames(parseCertificate(leaf));
              expect(names).toEqual([`spiffe://cluster.local/ns/${namespace}/sa/${serviceAccount}`]);
              expect(`${namespace}/${serviceAccount}`).toMatch(/^[-a-z0-9]+\/[-.a-z0-9]+$/);
            } catch (error) {
              expect(String(error)).toContain("identity");
            }
          },
        ),
      );
    });
  });

  test("a control plane gets a certificate for its own names", async () => {
    const bundle = await createIntermediate();
    const authority = createCertificateAuthority({ bundle, now: () => now });
    const serving = await authority.issueServing({
      dns: controlPlaneNames("istio-system", "canary"),
      addresses: ["127.0.0.1", "::1"],
    });
    const leaf = parseCertificate(serving.cert);
    expect(leaf.checkHost("istiod.istio-system.svc")).toBeDefined();
    expect(leaf.checkHost("istiod-canary.istio-system.svc")).toBeDefined();
    expect(leaf.checkIP("::1")).toBeDefined();
    expect(serving.notAfter).toEqual(bundle.certificate.validToDate);
  });
});

describe("authorisation of issuance", () => {
  const wanted = "spiffe://cluster.local/ns/foo/sa/other";
  test("nobody acts for another unless a node authoriser says so", () => {
    expect(authorizeIssuance({ caller: identity, impersonated: wanted })).toHaveProperty("refused");
    expect(authorizeIssuance({ caller: identity, impersonated: wanted }, () => false)).toHaveProperty("refused");
    expect(authorizeIssuance({ caller: identity, impersonated: "spiffe://x/ns/../sa/y" }, () => true)).toHaveProperty(
      "refused",
    );
    expect(authorizeIssuance({ caller: identity, impersonated: wanted }, () => true)).toEqual({
      identity: { ...identity, serviceAccount: "other" },
    });
  });
});

describe("C15: a CA that cannot be used is refused, naming the file", () => {
  const broken: readonly [
    string,
    string,
    (files: ReturnType<typeof formatSigningBundle>, other: ReturnType<typeof formatSigningBundle>) => CaFiles,
    Date,
  ][] = [
    ["an unreadable key", "ca-key.pem", (files) => ({ ...files, "ca-key.pem": "junk" }), now],
    [
      "a key of another certificate",
      "not the key",
      (files, other) => ({ ...files, "ca-key.pem": other["ca-key.pem"] }),
      now,
    ],
    ["an expired certificate", "expired", (files) => files, new Date("2040-01-01T00:00:00Z")],
    ["one that is not yet valid", "not valid before", (files) => files, new Date("2020-01-01T00:00:00Z")],
    [
      "a root that is not its own",
      "does not lead to",
      (files, other) => ({ ...files, "root-cert.pem": other["root-cert.pem"] }),
      now,
    ],
    ["no certificate", "ca-cert.pem", (files) => ({ ...files, "ca-cert.pem": "" }), now],
    ["a root file of junk", "root-cert.pem", (files) => ({ ...files, "root-cert.pem": "junk" }), now],
  ];
  test.each(broken)("%s", async (_, message, change, at) => {
    const other = await createSelfSignedBundle({ organization: "other", now });
    expect(() => parseSigningBundle(change(formatSigningBundle(root), formatSigningBundle(other)), at)).toThrow(
      message,
    );
  });
  test("a leaf certificate is no CA", async () => {
    const leaf = issueCertificate({
      profile: "leaf",
      altNames: [{ type: "dns", value: "x" }],
      publicKey: key.publicKey,
      signer: root,
      now,
      ttlMs: day,
    });
    const files = formatSigningBundle({ ...root, certificate: leaf, key: key.privateKey });
    expect(() => parseSigningBundle(files, now)).toThrow("not allowed to sign");
  });
  test("plugged-in files with an intermediate are read, also where the chain file leaves out the signer", async () => {
    const bundle = await createIntermediate();
    const read = parseSigningBundle({ ...formatSigningBundle(bundle), "cert-chain.pem": "" }, now);
    expect(read.chain.map((certificate) => certificate.subject)).toEqual(["O=middle"]);
  });
});

describe("the CA's secret", () => {
  test("C16: of many that start at once one creates the root and all use it", async () => {
    const store = createStore();
    const bundles = await Promise.all(
      Array.from({ length: 8 }, () => loadOrCreateCa(store, { organization: "cluster.local", now })),
    );
    expect(new Set(bundles.map((bundle) => bundle.certificate.fingerprint256)).size).toBe(1);
    expect(Object.keys(store.data ?? {}).sort()).toEqual([
      "ca-cert.pem",
      "ca-key.pem",
      "cert-chain.pem",
      "key.pem",
      "root-cert.pem",
    ]);
  });
  test("a broken secret is never created over", async () => {
    const store = createStore();
    store.data = { "ca-cert.pem": "junk", "ca-key.pem": "junk" };
    await expect(loadOrCreateCa(store, { organization: "x", now })).rejects.toThrow("cannot be used");
    expect(store.creates).toBe(0);
  });
  test("a store that cannot be asked creates nothing", async () => {
    const store = { ...createStore(), get: () => Promise.reject(new Error("connection refused")) };
    await expect(loadOrCreateCa(store, { organization: "x", now })).rejects.toThrow("connection refused");
    expect(store.creates).toBe(0);
  });
});

test("the rate limit holds per holder, per account and in total, and refills with time", () => {
  let at = 0;
  const limit = createRateLimit({
    perHolder: { burst: 3, perSecond: 1 },
    perAccount: { burst: 4, perSecond: 1 },
    total: { burst: 5, perSecond: 1 },
    monotonicMs: () => at,
  });
  const taken = (account: string, holder: string, times: number): number =>
    Array.from({ length: times }, () => limit.take({ account, holder })).filter(Boolean).length;
  expect(taken("a", "pod-1", 10)).toBe(3);
  expect(taken("a", "pod-2", 10)).toBe(1);
  expect(taken("b", "pod-1", 10)).toBe(1);
  at = 2000;
  expect(taken("a", "pod-1", 10)).toBe(2);
});
