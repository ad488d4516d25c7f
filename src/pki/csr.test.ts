import { spawnSync } from "node:child_process";
import { createPublicKey, generateKeyPairSync, type KeyPairKeyObjectResult, verify } from "node:crypto";

import fc from "fast-check";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { lacks } from "../../test/require.ts";
import { FairleadError } from "../lib/index.ts";
import { createCsr, parseCsr } from "./csr.ts";
import { bitString, encode, nullValue, octetString, oid, sequence, set, unsignedInteger } from "./der.ts";
import { generateKey, type KeyPair } from "./key.ts";
import { oids } from "./oids.ts";
import { formatPem, parseSinglePem } from "./pem.ts";
import { handmadeCsr, loadIndependentX509 } from "./testing.ts";

/** Counts the costly steps; what they do stays. */
vi.mock("node:crypto", async (original) => {
  const crypto = await original<typeof import("node:crypto")>();
  return { ...crypto, createPublicKey: vi.fn(crypto.createPublicKey), verify: vi.fn(crypto.verify) };
});

const x509 = await loadIndependentX509();
const openssl = (args: readonly string[], input: string): string => {
  const run = spawnSync("openssl", args, { input, encoding: "utf8" });
  if (run.status !== 0) throw new Error(run.stderr);
  return run.stdout;
};

/** What a refusal says, and how often it came to reading a key or to arithmetic with it. */
function refusal(text: string): { readonly error: unknown; readonly steps: number } {
  const counted = [vi.mocked(createPublicKey), vi.mocked(verify)];
  for (const step of counted) step.mockClear();
  try {
    parseCsr(text);
  } catch (error) {
    return { error, steps: counted.reduce((sum, { mock }) => sum + mock.calls.length, 0) };
  }
  throw new Error("not refused");
}

describe("certificate requests", () => {
  let key: KeyPair;
  beforeAll(async () => {
    key = await generateKey();
  });
  const spkiOf = (pair: KeyPair): Buffer => pair.publicKey.export({ type: "spki", format: "der" });

  test.each(["ecdsa-p256", "ecdsa-p384", "rsa-2048"] as const)("a request with %s is read back", async (algorithm) => {
    const pair = await generateKey(algorithm);
    expect(parseCsr(createCsr({ key: pair })).publicKey.equals(pair.publicKey)).toBe(true);
  });

  test.skipIf(lacks("openssl"))("openssl verifies ours, and sees the name we asked for", () => {
    const uri = "spiffe://cluster.local/ns/foo/sa/bar";
    const text = openssl(
      ["req", "-verify", "-noout", "-text"],
      createCsr({ key, altNames: [{ type: "uri", value: uri }] }),
    );
    expect(text).toContain(`URI:${uri}`);
  });

  test.skipIf(lacks("openssl"))("we verify those of openssl", () => {
    const options = [
      "req",
      "-new",
      "-nodes",
      "-keyout",
      "/dev/null",
      "-subj",
      "/CN=evil",
      "-addext",
      "subjectAltName=DNS:evil.example",
    ];
    for (const algorithm of [
      ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
      ["-newkey", "rsa:2048"],
    ])
      expect(parseCsr(openssl([...options, ...algorithm], "")).publicKey.type).toBe("public");
  });

  test("an independent library reads ours, and we read its", async () => {
    expect(await new x509.Pkcs10CertificateRequest(createCsr({ key })).verify()).toBe(true);
    const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
    const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
    const theirs = await x509.Pkcs10CertificateRequestGenerator.create({
      name: "CN=test",
      keys,
      signingAlgorithm: algorithm,
    });
    const spki = Buffer.from(await crypto.subtle.exportKey("spki", keys.publicKey));
    const read = parseCsr(`${theirs.toString("pem")}\n`).publicKey;
    expect(read.equals(createPublicKey({ key: spki, format: "der", type: "spki" }))).toBe(true);
  });

  test("C02: a request full of foreign extensions, even doubled ones, is read for its key alone", () => {
    const caTrue = sequence(oid(oids.basicConstraints), octetString(sequence(encode(1, Buffer.of(0xff)))));
    const request = (count: number): Buffer =>
      sequence(oid(oids.extensionRequest), set(sequence(...Array.from({ length: count }, () => caTrue))));
    const pem = handmadeCsr({ spki: spkiOf(key), key, attributes: [request(500), request(2)] });
    expect(parseCsr(pem).publicKey.equals(key.publicKey)).toBe(true);
  });

  describe("C03: keys outside the allow-list are refused", () => {
    const weak: readonly [string, () => KeyPairKeyObjectResult][] = [
      ["RSA 512", () => generateKeyPairSync("rsa", { modulusLength: 512 })],
      ["RSA 1024", () => generateKeyPairSync("rsa", { modulusLength: 1024 })],
      ["RSA with exponent 3", () => generateKeyPairSync("rsa", { modulusLength: 2048, publicExponent: 3 })],
      ["P-224", () => generateKeyPairSync("ec", { namedCurve: "secp224r1" })],
      ["P-521", () => generateKeyPairSync("ec", { namedCurve: "P-521" })],
      ["secp256k1", () => generateKeyPairSync("ec", { namedCurve: "secp256k1" })],
      ["DSA", () => generateKeyPairSync("dsa", { modulusLength: 2048, divisorLength: 256 })],
      ["Ed448", () => generateKeyPairSync("ed448")],
      ["Ed25519", () => generateKeyPairSync("ed25519")],
    ];
    test.each(weak)("%s", (_, make) => {
      const spki = make().publicKey.export({ type: "spki", format: "der" });
      expect(() => parseCsr(handmadeCsr({ spki, key }))).toThrow("public key is refused");
    });

    test("RSA of 16384 bits is refused by its size, before any arithmetic", () => {
      const modulus = Buffer.alloc(2048, 0xff);
      const rsa = sequence(unsignedInteger(modulus), unsignedInteger(Buffer.of(1, 0, 1)));
      const spki = sequence(sequence(oid(oids.rsaEncryption), nullValue()), bitString(rsa));
      const pem = handmadeCsr({ spki, key });
      const { error, steps } = refusal(pem);
      expect(String(error)).toContain("16384 bits");
      expect(steps).toBe(0);
    });

    test("a point that is not on the curve", () => {
      const spki = Buffer.from(spkiOf(key));
      spki[spki.length - 1] = (spki[spki.length - 1] ?? 0) ^ 1;
      expect(() => parseCsr(handmadeCsr({ spki, key }))).toThrow("not valid for the algorithm");
    });
  });

  describe("C04: signatures", () => {
    test("of another key are refused", async () => {
      const other = await generateKey();
      const { error, steps } = refusal(handmadeCsr({ spki: spkiOf(key), key: other }));
      expect(String(error)).toContain("not signed by the key");
      expect(steps).toBe(2);
    });
    test.each([
      ["SHA-1", "1.2.840.10045.4.1", "sha1"],
      ["MD5", "1.2.840.113549.1.1.4", "md5"],
    ])("with %s are refused", (_, name, hash) => {
      const pem = handmadeCsr({
        spki: spkiOf(key),
        key,
        algorithm: sequence(oid(name)),
        hash: hash === "md5" ? "sha256" : hash,
      });
      expect(() => parseCsr(pem)).toThrow("signature algorithm is not accepted");
    });
    test("any changed byte of a request is refused", () => {
      const der = parseSinglePem(createCsr({ key }), "CERTIFICATE REQUEST", 16384);
      fc.assert(
        fc.property(fc.nat(der.length - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
          const changed = Buffer.from(der);
          changed[at] = (changed[at] ?? 0) ^ flip;
          expect(() => parseCsr(formatPem("CERTIFICATE REQUEST", changed))).toThrow(FairleadError);
        }),
        { numRuns: 500 },
      );
    });
  });

  describe("C05: PEM junk is refused by its size or form, before its key is looked at", () => {
    const good = (): string => createCsr({ key });
    const junk: readonly [string, () => string][] = [
      ["856 kB of near-PEM", () => "-----BEGIN CERTIFICATE REQUEST-----\n".repeat(24_000)],
      ["10,000 blocks", () => good().repeat(10_000)],
      ["two blocks", () => good() + good()],
      ["a NUL inside", () => good().replace("\nM", "\n\0M")],
      ["Windows line ends", () => good().replaceAll("\n", "\r\n")],
      ["text before", () => `hello\n${good()}`],
      ["text after", () => `${good()}hello`],
      ["another label", () => good().replaceAll("CERTIFICATE REQUEST", "CERTIFICATE")],
      ["nothing", () => ""],
      ["a header alone", () => "-----BEGIN CERTIFICATE REQUEST-----\n"],
      ["an empty body", () => "-----BEGIN CERTIFICATE REQUEST-----\n\n-----END CERTIFICATE REQUEST-----\n"],
      [
        "DER with bytes after it",
        () =>
          formatPem(
            "CERTIFICATE REQUEST",
            Buffer.concat([parseSinglePem(good(), "CERTIFICATE REQUEST", 16384), Buffer.of(5, 0)]),
          ),
      ],
      ["BER", () => formatPem("CERTIFICATE REQUEST", Buffer.from("30800201000000", "hex"))],
      ["a length that overflows", () => formatPem("CERTIFICATE REQUEST", Buffer.from("3084ffffffff0201", "hex"))],
      [
        "nesting of 1,000",
        () =>
          formatPem(
            "CERTIFICATE REQUEST",
            Array.from({ length: 1000 }).reduce<Buffer>((inner) => sequence(inner), sequence()),
          ),
      ],
    ];
    test.each(junk)("%s", (_, make) => {
      const text = make();
      const { error, steps } = refusal(text);
      expect(error).toBeInstanceOf(FairleadError);
      expect(error).toMatchObject({ code: text.length > 16 * 1024 ? "too-large" : "invalid" });
      expect(steps).toBe(0);
    });

    test("arbitrary text never gets past, nor breaks out", () => {
      fc.assert(
        fc.property(
          fc.string({ maxLength: 400, unit: "binary" }),
          fc.base64String({ maxLength: 400 }),
          (text, body) => {
            for (const pem of [
              text,
              `-----BEGIN CERTIFICATE REQUEST-----\n${body}\n-----END CERTIFICATE REQUEST-----\n`,
            ])
              expect(() => parseCsr(pem)).toThrow(FairleadError);
          },
        ),
        { numRuns: 1000 },
      );
    });
  });
});
