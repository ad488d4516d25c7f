/** PKCS#10: a key in, a signed request out; a request's PEM in, its verified public key out. What a request asks for is not read. */
import { type KeyObject, sign, verify } from "node:crypto";
import { FairleadError } from "../lib/index.ts";
import {
  bitString,
  checkDer,
  contextTag,
  encode,
  nullValue,
  octetString,
  oid,
  oidText,
  readDer,
  sequence,
  set,
  tags,
  unsignedInteger,
  wholeBits,
} from "./der.ts";
import { type KeyPair, type SignatureScheme, schemeOf, signatureSchemes } from "./key.ts";
import { encodeAltNames, encodeName, type SubjectAltName, type SubjectName } from "./name.ts";
import { oids } from "./oids.ts";
import { formatPem, parseSinglePem } from "./pem.ts";
import { parsePublicKey } from "./public-key.ts";

const label = "CERTIFICATE REQUEST";
/** An RSA-4096 request with ordinary attributes has about 2 KB. */
const maxCsrBytes = 16 * 1024;

export interface CsrOptions {
  readonly key: KeyPair;
  readonly subject?: SubjectName;
  readonly altNames?: readonly SubjectAltName[];
}

export function createCsr(options: CsrOptions): string {
  const { key, subject = {}, altNames = [] } = options;
  const spki = key.publicKey.export({ type: "spki", format: "der" });
  const info = sequence(
    unsignedInteger(Buffer.of(0)),
    encodeName(subject),
    spki,
    encode(contextTag(0, true), ...attributes(altNames)),
  );
  return formatPem(label, signed(info, key.privateKey));
}

/** The DER `SEQUENCE { body, algorithm, signature }` shared by requests and certificates. */
export function signed(body: Uint8Array, key: KeyObject): Buffer {
  const scheme = schemeOf(key);
  return sequence(body, algorithmIdentifier(scheme), bitString(sign(scheme.hash, body, key)));
}

export function algorithmIdentifier(scheme: SignatureScheme): Buffer {
  return scheme.family === "rsa" ? sequence(oid(scheme.oid), nullValue()) : sequence(oid(scheme.oid));
}

/** Throws `invalid` or `too-large` for whatever is not one well-formed request signed by the key it carries. */
export function parseCsr(pem: string): { readonly publicKey: KeyObject } {
  const der = parseSinglePem(pem, label, maxCsrBytes);
  checkDer(der);
  const request = readDer(readDer(der).take(tags.sequence).content);
  const info = request.take(tags.sequence);
  const algorithm = readDer(request.take(tags.sequence).content);
  const signature = wholeBits(request.take(tags.bitString).content);
  request.end();
  const scheme = parseScheme(oidText(algorithm.take(tags.oid).content));
  if (scheme.family === "rsa") algorithm.takeIf(tags.null);
  algorithm.end();
  const publicKey = parsePublicKey(spkiOf(info.content));
  if (publicKey.asymmetricKeyType !== scheme.family) throw badSignature();
  if (!verify(scheme.hash, info.raw, publicKey, signature)) throw badSignature();
  return { publicKey };
}

function spkiOf(info: Uint8Array): Uint8Array {
  const fields = readDer(info);
  const version = fields.take(tags.integer).content;
  if (version.length !== 1 || version[0] !== 0) throw new FairleadError("invalid", "the request is not of version 1");
  fields.take(tags.sequence);
  const spki = fields.take(tags.sequence).raw;
  fields.takeIf(contextTag(0, true));
  fields.end();
  return spki;
}

function parseScheme(name: string): SignatureScheme {
  const scheme = signatureSchemes.find((known) => known.oid === name);
  if (!scheme) throw new FairleadError("invalid", "the request's signature algorithm is not accepted");
  return scheme;
}

function attributes(altNames: readonly SubjectAltName[]): readonly Buffer[] {
  if (altNames.length === 0) return [];
  const extension = sequence(oid(oids.subjectAltName), octetString(encodeAltNames(altNames)));
  return [sequence(oid(oids.extensionRequest), set(sequence(extension)))];
}

function badSignature(): FairleadError {
  return new FairleadError("invalid", "the request is not signed by the key it carries");
}
