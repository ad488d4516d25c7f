/** A profile, names, a public key and a signer in, an X.509 v3 certificate out; nothing is ever taken over from a request. */
import { createHash, type KeyObject, randomBytes, X509Certificate } from "node:crypto";
import { FairleadError } from "../lib/index.ts";
import { algorithmIdentifier, signed } from "./csr.ts";
import {
  bitString,
  booleanTrue,
  contextTag,
  encode,
  octetString,
  oid,
  readDer,
  sequence,
  tags,
  time,
  unsignedInteger,
  utf8String,
  wholeBits,
} from "./der.ts";
import { schemeOf } from "./key.ts";
import { encodeAltNames, encodeName, type SubjectAltName, type SubjectName } from "./name.ts";
import { oids } from "./oids.ts";
import { formatPem } from "./pem.ts";
import { encodePublicKey } from "./public-key.ts";

export type CertificateProfile = "ca" | "leaf" | "server" | "client";

export interface Signer {
  /** Undefined for a certificate that signs itself. */
  readonly certificate: X509Certificate | undefined;
  readonly key: KeyObject;
}

export interface CertificateOptions {
  readonly profile: CertificateProfile;
  readonly subject?: SubjectName;
  readonly altNames?: readonly SubjectAltName[];
  readonly publicKey: KeyObject;
  readonly signer: Signer;
  readonly now: Date;
  readonly ttlMs: number;
  /** Facts of the issuer's own, under an identifier of its own; others ignore them. */
  readonly facts?: { readonly oid: string; readonly texts: readonly string[] };
}

/** Istio's allowance for clocks that run behind: a certificate begins this long before it is made. */
export const clockGraceMs = 2 * 60_000;

export function issueCertificate(options: CertificateOptions): X509Certificate {
  return new X509Certificate(encodeCertificate(options).raw);
}

export interface EncodedCertificate {
  readonly raw: Uint8Array;
  /** As X509Certificate has it. */
  readonly serialNumber: string;
  readonly validToDate: Date;
}

/** As `issueCertificate`, for issuers of many: nothing is read back that was just written. */
export function encodeCertificate(options: CertificateOptions): EncodedCertificate {
  const { subject = {}, altNames = [], publicKey, signer, now, facts } = options;
  const spki = encodePublicKey(publicKey);
  const validToDate = endOfLife(options);
  const serial = randomSerial();
  const validity = sequence(time(new Date(now.getTime() - clockGraceMs)), time(validToDate));
  const body = sequence(
    encode(contextTag(0, true), unsignedInteger(Buffer.of(2))),
    unsignedInteger(serial),
    algorithmIdentifier(schemeOf(signer.key)),
    signer.certificate ? issuerFacts(signer.certificate).subject : encodeName(subject),
    validity,
    encodeName(subject),
    spki,
    encode(
      contextTag(3, true),
      sequence(
        ...extensions(options.profile, subject, altNames, spki, signer.certificate),
        ...(facts ? [extension(facts.oid, false, sequence(...facts.texts.map(utf8String)))] : []),
      ),
    ),
  );
  return { raw: signed(body, signer.key), serialNumber: serial.toString("hex").toUpperCase(), validToDate };
}

export function formatCertificate({ raw }: { readonly raw: Uint8Array }): string {
  return formatPem("CERTIFICATE", raw);
}

/** In whole seconds, as certificates have it. A certificate never outlives its signer; one past its end signs nothing. */
function endOfLife(options: CertificateOptions): Date {
  const wanted = Math.floor((options.now.getTime() + options.ttlMs) / 1000) * 1000;
  const limit = options.signer.certificate && issuerFacts(options.signer.certificate).validTo;
  if (limit === undefined) return new Date(wanted);
  if (options.now.getTime() >= limit) throw new FairleadError("unavailable", "the signing certificate has expired");
  return new Date(Math.min(wanted, limit));
}

const serialBytes = 16;
/** Asking for random bytes costs the same for many. */
const serialsAtOnce = 64;
let random = Buffer.alloc(0);

/** 127 random bits with a leading one: positive, of constant length, never zero. */
function randomSerial(): Buffer {
  if (random.length === 0) random = randomBytes(serialBytes * serialsAtOnce);
  const serial = random.subarray(0, serialBytes);
  random = random.subarray(serialBytes);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40;
  return serial;
}

function extensions(
  profile: CertificateProfile,
  subject: SubjectName,
  altNames: readonly SubjectAltName[],
  spki: Uint8Array,
  issuer: X509Certificate | undefined,
): readonly Buffer[] {
  const isCa = profile === "ca";
  // A CA signs certificates and lists of those that it has revoked: Envoy believes no list without the right to it.
  const out = [extension(oids.keyUsage, true, isCa ? bitString(Buffer.of(0x06), 1) : bitString(Buffer.of(0xa0), 5))];
  if (!isCa) out.push(extension(oids.extendedKeyUsage, false, sequence(...purposes(profile).map(oid))));
  out.push(extension(oids.basicConstraints, true, isCa ? sequence(booleanTrue()) : sequence()));
  if (isCa) out.push(extension(oids.subjectKeyIdentifier, false, octetString(keyIdentifier(spki))));
  const issuerId = issuer ? issuerFacts(issuer).keyIdentifier : keyIdentifier(spki);
  out.push(extension(oids.authorityKeyIdentifier, false, sequence(encode(contextTag(0, false), issuerId))));
  // RFC 5280: the alternative name carries the identity alone where the subject is empty, so it must be understood.
  const subjectEmpty = (subject.organization ?? "") === "" && (subject.commonName ?? "") === "";
  if (altNames.length > 0) out.push(extension(oids.subjectAltName, subjectEmpty, encodeAltNames(altNames)));
  return out;
}

function purposes(profile: CertificateProfile): readonly string[] {
  if (profile === "server") return [oids.serverAuth];
  return profile === "client" ? [oids.clientAuth] : [oids.serverAuth, oids.clientAuth];
}

function extension(name: string, critical: boolean, value: Uint8Array): Buffer {
  return critical ? sequence(oid(name), booleanTrue(), octetString(value)) : sequence(oid(name), octetString(value));
}

/** RFC 5280's first method: the hash of the public key's bits. */
function keyIdentifier(spki: Uint8Array): Buffer {
  const info = readDer(readDer(spki).take(tags.sequence).content);
  info.take(tags.sequence);
  return createHash("sha1")
    .update(wholeBits(info.take(tags.bitString).content))
    .digest();
}

/** What each certificate of a signer has of it. */
interface IssuerFacts {
  readonly subject: Uint8Array;
  readonly keyIdentifier: Uint8Array;
  /** In milliseconds since the epoch. */
  readonly validTo: number;
}

const knownIssuers = new WeakMap<X509Certificate, IssuerFacts>();

function issuerFacts(certificate: X509Certificate): IssuerFacts {
  const known = knownIssuers.get(certificate) ?? {
    subject: subjectOf(certificate),
    keyIdentifier: keyIdentifierOf(certificate),
    validTo: certificate.validToDate.getTime(),
  };
  knownIssuers.set(certificate, known);
  return known;
}

/** The signer's own key identifier where it has one (another CA may have chosen another method), else the usual hash. */
function keyIdentifierOf(certificate: X509Certificate): Uint8Array {
  const found = extensionValue(certificate, oids.subjectKeyIdentifier);
  if (found) return readDer(found).take(tags.octetString).content;
  return keyIdentifier(encodePublicKey(certificate.publicKey));
}

/** A certificate's subject byte for byte: chain building compares encodings. */
export function subjectOf(certificate: X509Certificate): Uint8Array {
  const fields = tbsFields(certificate);
  fields.take(tags.sequence);
  fields.take(tags.sequence);
  fields.take(tags.sequence);
  return fields.take(tags.sequence).raw;
}

/** What a list of revoked certificates names one by. */
export function serialAndIssuer(certificate: X509Certificate): {
  readonly serial: Uint8Array;
  readonly issuer: Uint8Array;
} {
  const outer = readDer(readDer(certificate.raw).take(tags.sequence).content);
  const fields = readDer(outer.take(tags.sequence).content);
  fields.takeIf(contextTag(0, true));
  const serial = fields.take(tags.integer).content;
  fields.take(tags.sequence);
  return { serial, issuer: fields.take(tags.sequence).raw };
}

/** The content of one extension's value, undefined where the certificate lacks it. */
export function extensionValue(certificate: X509Certificate, name: string): Uint8Array | undefined {
  const fields = tbsFields(certificate);
  for (let i = 0; i < 5; i++) fields.take(tags.sequence);
  const list = fields.takeIf(contextTag(3, true));
  if (!list) return undefined;
  const items = readDer(readDer(list.content).take(tags.sequence).content);
  while (!items.isAtEnd()) {
    const item = readDer(items.take(tags.sequence).content);
    const raw = item.take(tags.oid).raw;
    item.takeIf(tags.boolean);
    const value = item.take(tags.octetString).content;
    if (oid(name).equals(raw)) return value;
  }
  return undefined;
}

/** The facts that its issuer put in under the identifier; undefined where there are none. */
export function factsOf(certificate: X509Certificate, name: string): readonly string[] | undefined {
  const value = extensionValue(certificate, name);
  if (!value) return undefined;
  const items = readDer(readDer(value).take(tags.sequence).content);
  const texts: string[] = [];
  while (!items.isAtEnd()) texts.push(Buffer.from(items.take(tags.utf8String).content).toString("utf8"));
  return texts;
}

/** A cursor at the signature algorithm of the part that is signed. */
function tbsFields(certificate: X509Certificate): ReturnType<typeof readDer> {
  const outer = readDer(readDer(certificate.raw).take(tags.sequence).content);
  const fields = readDer(outer.take(tags.sequence).content);
  fields.takeIf(contextTag(0, true));
  fields.take(tags.integer);
  return fields;
}
