/** SubjectPublicKeyInfo in, a key object out, if it is on the allow-list; decided from the bytes, before any arithmetic is done with it. */
import { createPublicKey, type KeyObject } from "node:crypto";
import { FairleadError } from "../lib/index.ts";
import { oidText, positiveInteger, readDer, tags, wholeBits } from "./der.ts";
import { oids } from "./oids.ts";
import { formatPem } from "./pem.ts";

const minRsaBits = 2048;
/** Verifying with a larger modulus costs milliseconds that a hostile request must not be able to spend. */
const maxRsaBits = 4096;

const encodings = new WeakMap<KeyObject, Uint8Array>();

/** SubjectPublicKeyInfo of a key. */
export function encodePublicKey(key: KeyObject): Uint8Array {
  return encodings.get(key) ?? key.export({ type: "spki", format: "der" });
}

export function parsePublicKey(spki: Uint8Array): KeyObject {
  const outer = readDer(spki);
  const info = readDer(outer.take(tags.sequence).content);
  outer.end();
  const algorithm = readDer(info.take(tags.sequence).content);
  const key = wholeBits(info.take(tags.bitString).content);
  info.end();
  const name = oidText(algorithm.take(tags.oid).content);
  const isEc = name === oids.ecPublicKey;
  if (isEc) checkCurve(oidText(algorithm.take(tags.oid).content), key);
  else if (name === oids.rsaEncryption) {
    algorithm.takeIf(tags.null);
    checkRsa(key);
  } else throw refused("its algorithm is not ECDSA or RSA");
  algorithm.end();
  try {
    // As text: bytes in an object cost twice as much, as Node first tries whether the object is a key.
    const publicKey = createPublicKey(formatPem("PUBLIC KEY", spki));
    // A key on a curve has but one strict encoding, which was just checked; one of RSA has several.
    if (isEc) encodings.set(publicKey, Buffer.from(spki));
    return publicKey;
  } catch {
    throw refused("its value is not valid for the algorithm");
  }
}

function checkCurve(curve: string, point: Uint8Array): void {
  const size = curve === oids.p256 ? 32 : curve === oids.p384 ? 48 : undefined;
  if (size === undefined) throw refused("its curve is not P-256 or P-384");
  if (point.length !== 1 + 2 * size || point[0] !== 4) throw refused("its point is not in uncompressed form");
}

function checkRsa(key: Uint8Array): void {
  const outer = readDer(key);
  const parts = readDer(outer.take(tags.sequence).content);
  outer.end();
  const modulus = positiveInteger(parts.take(tags.integer).content);
  const exponent = positiveInteger(parts.take(tags.integer).content);
  parts.end();
  const bits = modulus.length * 8 - Math.clz32(modulus[0] ?? 0) + 24;
  if (bits < minRsaBits || bits > maxRsaBits)
    throw refused(`its RSA modulus has ${bits} bits, not ${minRsaBits} to ${maxRsaBits}`);
  if (Buffer.from(exponent).toString("hex") !== "010001") throw refused("its RSA exponent is not 65537");
}

function refused(why: string): FairleadError {
  return new FairleadError("invalid", `the public key is refused: ${why}`);
}
