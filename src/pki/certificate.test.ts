import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { lacks } from "../../test/require.ts";
import { chainsTo, parseCertificates, uriNames } from "./bundle.ts";
import { formatCertificate, issueCertificate, type Signer } from "./certificate.ts";
import { generateKey, type KeyAlgorithm } from "./key.ts";
import { loadIndependentX509 } from "./testing.ts";

const x509 = await loadIndependentX509();
const now = new Date("2026-11-15T06:00:00Z");
const day = 86_400_000;
const workload = { type: "uri", value: "spiffe://cluster.local/ns/foo/sa/bar" } as const;

async function createRoot(
  algorithm: KeyAlgorithm = "ecdsa-p256",
  ttlMs = 3650 * day,
): Promise<Signer & { certificate: NonNullable<Signer["certificate"]> }> {
  const key = await generateKey(algorithm);
  const signer = { certificate: undefined, key: key.privateKey };
  const certificate = issueCertificate({
    profile: "ca",
    subject: { organization: "cluster.local" },
    publicKey: key.publicKey,
    signer,
    now,
    ttlMs,
  });
  return { certificate, key: key.privateKey };
}

function opensslVerify(root: string, leaf: string): string {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-pki-"));
  try {
    writeFileSync(join(dir, "root.pem"), root);
    writeFileSync(join(dir, "leaf.pem"), leaf);
    const at = String(now.getTime() / 1000);
    const run = spawnSync(
      "openssl",
      ["verify", "-x509_strict", "-attime", at, "-CAfile", join(dir, "root.pem"), join(dir, "leaf.pem")],
      { encoding: "utf8" },
    );
    return run.stdout + run.stderr;
  } finally {
    rmSync(dir, { recursive: true });
  }
}

describe("certificates", () => {
  const algorithms: readonly KeyAlgorithm[] = ["ecdsa-p256", "ecdsa-p384", "rsa-2048"];
  test.skipIf(lacks("openssl")).each(algorithms)("openssl verifies a leaf under a root with %s", async (algorithm) => {
    const signer = await createRoot(algorithm);
    const key = await generateKey(algorithm);
    const leaf = issueCertificate({
      profile: "leaf",
      altNames: [workload],
      publicKey: key.publicKey,
      signer,
      now,
      ttlMs: day,
    });
    expect(opensslVerify(formatCertificate(signer.certificate), formatCertificate(leaf))).toContain("leaf.pem: OK");
  });

  test("a workload's certificate says what Istio's says, seen by an independent library", async () => {
    const signer = await createRoot();
    const key = await generateKey();
    const leaf = issueCertificate({
      profile: "leaf",
      altNames: [workload],
      publicKey: key.publicKey,
      signer,
      now,
      ttlMs: day,
    });
    const seen = new x509.X509Certificate(leaf.raw);
    expect(seen.subject).toBe("");
    expect(seen.issuer).toBe("O=cluster.local");
    expect(seen.notBefore.toISOString()).toBe("2026-11-15T05:58:00.000Z");
    expect(seen.notAfter.toISOString()).toBe("2026-11-16T06:00:00.000Z");
    const altName = seen.getExtension(x509.SubjectAlternativeNameExtension);
    expect(altName?.critical).toBe(true);
    expect(altName?.names.toJSON()).toEqual([{ type: "url", value: workload.value }]);
    expect(seen.getExtension(x509.BasicConstraintsExtension)).toMatchObject({ ca: false, critical: true });
    const usages = x509.KeyUsageFlags.digitalSignature | x509.KeyUsageFlags.keyEncipherment;
    expect(seen.getExtension(x509.KeyUsagesExtension)).toMatchObject({ usages, critical: true });
    expect(seen.getExtension(x509.ExtendedKeyUsageExtension)?.usages).toEqual([
      "1.3.6.1.5.5.7.3.1",
      "1.3.6.1.5.5.7.3.2",
    ]);
    const root = new x509.X509Certificate(signer.certificate.raw);
    expect(await seen.verify({ publicKey: root.publicKey, date: now })).toBe(true);
    expect(root.getExtension(x509.BasicConstraintsExtension)).toMatchObject({ ca: true, critical: true });
    expect(root.getExtension(x509.KeyUsagesExtension)?.usages).toBe(
      x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign,
    );
  });

  test("names of servers: DNS and addresses of both families", async () => {
    const signer = await createRoot();
    const altNames = [
      { type: "dns", value: "istiod.istio-system.svc" },
      { type: "ip", value: "127.0.0.1" },
      { type: "ip", value: "fd00::1" },
    ] as const;
    const key = await generateKey();
    const leaf = issueCertificate({
      profile: "server",
      subject: { organization: "x" },
      altNames,
      publicKey: key.publicKey,
      signer,
      now,
      ttlMs: day,
    });
    expect(leaf.subjectAltName).toBe(
      "DNS:istiod.istio-system.svc, IP Address:127.0.0.1, IP Address:FD00:0:0:0:0:0:0:1",
    );
    expect(leaf.checkHost("istiod.istio-system.svc")).toBeDefined();
    expect(leaf.checkIP("127.0.0.1")).toBeDefined();
  });

  test("R46, C06: for any life asked for, a leaf never outlives its signer", async () => {
    const signer = await createRoot("ecdsa-p256", 30 * day);
    const { publicKey } = await generateKey();
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 90 * day }), (ttlMs) => {
        const leaf = issueCertificate({ profile: "leaf", altNames: [workload], publicKey, signer, now, ttlMs });
        expect(leaf.validToDate.getTime()).toBeLessThanOrEqual(signer.certificate.validToDate.getTime());
        expect(leaf.validToDate.getTime()).toBeLessThanOrEqual(now.getTime() + ttlMs);
      }),
      { numRuns: 1000 },
    );
  });

  test("an expired signer signs nothing", async () => {
    const signer = await createRoot("ecdsa-p256", day);
    const { publicKey } = await generateKey();
    const later = new Date(now.getTime() + 2 * day);
    expect(() =>
      issueCertificate({ profile: "leaf", altNames: [workload], publicKey, signer, now: later, ttlMs: day }),
    ).toThrow("expired");
  });

  test("C07: a thousand certificates of the same key have a thousand serials of 127 bits", async () => {
    const signer = await createRoot();
    const { publicKey } = await generateKey();
    const issue = (): string =>
      issueCertificate({ profile: "leaf", altNames: [workload], publicKey, signer, now, ttlMs: day }).serialNumber;
    const serials = new Set(Array.from({ length: 1000 }, issue));
    expect(serials.size).toBe(1000);
    expect([...serials].every((serial) => serial.length === 32)).toBe(true);
  });

  test.each(["spiffe://a\0b/ns/x/sa/y", "spiffe://é/ns/x/sa/y", "spiffe://a b", ""])(
    "R35: %j is refused as a name",
    async (value) => {
      const signer = await createRoot();
      const { publicKey } = await generateKey();
      const issue = () =>
        issueCertificate({ profile: "leaf", altNames: [{ type: "uri", value }], publicKey, signer, now, ttlMs: day });
      expect(issue).toThrow("cannot be a name");
    },
  );

  test("chains are followed through intermediates, and broken ones are seen", async () => {
    const root = await createRoot();
    const middleKey = await generateKey("rsa-2048");
    const middle = issueCertificate({
      profile: "ca",
      subject: { organization: "middle" },
      publicKey: middleKey.publicKey,
      signer: root,
      now,
      ttlMs: 90 * day,
    });
    const { publicKey } = await generateKey();
    const signer = { certificate: middle, key: middleKey.privateKey };
    const leaf = issueCertificate({ profile: "leaf", altNames: [workload], publicKey, signer, now, ttlMs: day });
    const [read] = parseCertificates(`a comment\r\n${formatCertificate(leaf).replaceAll("\n", "\r\n")}`);
    expect(read && uriNames(read)).toEqual([workload.value]);
    expect(chainsTo(leaf, [middle], [root.certificate], now)).toBe(true);
    expect(chainsTo(leaf, [], [root.certificate], now)).toBe(false);
    expect(chainsTo(leaf, [middle], [(await createRoot()).certificate], now)).toBe(false);
    expect(chainsTo(leaf, [middle], [root.certificate], new Date(now.getTime() + 100 * day))).toBe(false);
  });
});
