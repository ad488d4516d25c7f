/** Key pairs: an algorithm's name in, key objects out; key PEM in, key object out. Keys stay KeyObjects, PEM only at the edges. */
import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from "node:crypto";
import { promisify } from "node:util";
import { FairleadError } from "../lib/index.ts";
import { oids } from "./oids.ts";

export type KeyAlgorithm = "ecdsa-p256" | "ecdsa-p384" | "rsa-2048" | "rsa-4096";

export interface KeyPair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

const generate = promisify(generateKeyPair);

export async function generateKey(algorithm: KeyAlgorithm = "ecdsa-p256"): Promise<KeyPair> {
  switch (algorithm) {
    case "ecdsa-p256":
      return generate("ec", { namedCurve: "P-256" });
    case "ecdsa-p384":
      return generate("ec", { namedCurve: "P-384" });
    case "rsa-2048":
      return generate("rsa", { modulusLength: 2048 });
    case "rsa-4096":
      return generate("rsa", { modulusLength: 4096 });
  }
}

/** PKCS#8 PEM. The caller answers for where it goes. */
export function formatPrivateKey(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }).toString();
}

/** PKCS#8, PKCS#1 or SEC1. The cause is left out of the error: it may quote the key. */
export function parsePrivateKey(pem: string): KeyPair {
  try {
    const privateKey = createPrivateKey(pem);
    return { privateKey, publicKey: createPublicKey(privateKey) };
  } catch {
    throw new FairleadError("invalid", "the private key cannot be read", {
      hint: "give an unencrypted PEM key (PKCS#8, PKCS#1 or SEC1)",
    });
  }
}

/** True where the two public keys are the same key. */
export function sameKey(a: KeyObject, b: KeyObject): boolean {
  return a.equals(b);
}

export interface SignatureScheme {
  readonly oid: string;
  readonly hash: "sha256" | "sha384" | "sha512";
  readonly family: "ec" | "rsa";
}

/** What is accepted as a signature: nothing older than SHA-2. */
export const signatureSchemes: readonly SignatureScheme[] = [
  { oid: oids.ecdsaSha256, hash: "sha256", family: "ec" },
  { oid: oids.ecdsaSha384, hash: "sha384", family: "ec" },
  { oid: oids.ecdsaSha512, hash: "sha512", family: "ec" },
  { oid: oids.rsaSha256, hash: "sha256", family: "rsa" },
  { oid: oids.rsaSha384, hash: "sha384", family: "rsa" },
  { oid: oids.rsaSha512, hash: "sha512", family: "rsa" },
];

/** Asking a key what it is costs as much as signing with it. */
const knownSchemes = new WeakMap<KeyObject, SignatureScheme>();

export function schemeOf(key: KeyObject): SignatureScheme {
  const known = knownSchemes.get(key) ?? findScheme(key);
  knownSchemes.set(key, known);
  return known;
}

/** The scheme a key signs with; as Go does, SHA-384 on P-384 and SHA-256 elsewhere. */
function findScheme(key: KeyObject): SignatureScheme {
  const curve = key.asymmetricKeyDetails?.namedCurve;
  const wanted = curve === "prime256v1" ? oids.ecdsaSha256 : curve === "secp384r1" ? oids.ecdsaSha384 : oids.rsaSha256;
  const supported = key.asymmetricKeyType === "rsa" || curve === "prime256v1" || curve === "secp384r1";
  const scheme = signatureSchemes.find((known) => known.oid === wanted);
  if (!supported || !scheme)
    throw new FairleadError("invalid", `a key of type ${curve ?? key.asymmetricKeyType} cannot sign certificates`, {
      hint: "use ECDSA P-256, P-384 or RSA",
    });
  return scheme;
}
