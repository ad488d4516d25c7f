/** Lists of revoked certificates (RFC 5280) and the CAs that may sign them in; whether a certificate is on one out. */
import { verify, type X509Certificate } from "node:crypto";
import { FairleadError } from "../lib/index.ts";
import { extensionValue, serialAndIssuer, subjectOf } from "./certificate.ts";
import { checkDer, contextTag, oidText, readDer, readTime, tags, wholeBits } from "./der.ts";
import { signatureSchemes } from "./key.ts";
import { oids } from "./oids.ts";
import { parsePem } from "./pem.ts";

export interface Revocations {
  /** How many certificates are named. */
  readonly size: number;
  has(certificate: X509Certificate): boolean;
  /** Those of the CAs that no list in force is of, or that may sign none: a verifier that is given the lists refuses all below them. */
  without(cas: readonly X509Certificate[], now: Date): readonly X509Certificate[];
}

/** One list. */
interface List {
  /** Keys of what it names. */
  readonly revoked: readonly string[];
  readonly signer: X509Certificate;
  readonly nextUpdate: Date | undefined;
}

/** More than a CA of a mesh would ever revoke, and less than would fill memory. */
const maxListBytes = 4 * 1024 * 1024;
const crlLabel = "X509 CRL";
const crlSignBit = 0x02;

/** Whether there is a list in the text, whoever has signed it. */
export function hasRevocationList(pem: string): boolean {
  return pem.length <= maxListBytes && parsePem(pem).some(({ label }) => label === crlLabel);
}

/** Throws `invalid` for a list that cannot be read, or that none of the CAs has signed. */
export function parseRevocations(pem: string, signers: readonly X509Certificate[]): Revocations {
  if (pem.length > maxListBytes) throw new FairleadError("too-large", "the list of revoked certificates is too large");
  const blocks = parsePem(pem).filter(({ label }) => label === crlLabel);
  if (pem.trim() !== "" && blocks.length === 0)
    throw new FairleadError("invalid", "there is no list of revoked certificates (X509 CRL)");
  const lists = blocks.map(({ der }) => readList(der, signers));
  const revoked = new Set(lists.flatMap((list) => list.revoked));
  const isTold = (ca: X509Certificate, now: Date): boolean =>
    lists.some(({ signer, nextUpdate }) => signer.raw.equals(ca.raw) && (nextUpdate === undefined || nextUpdate > now));
  return {
    size: revoked.size,
    has: (certificate) => revoked.has(keyOf(serialAndIssuer(certificate))),
    without: (cas, now) => cas.filter((ca) => !(maySignLists(ca) && isTold(ca, now))),
  };
}

/** A CA that says what it is for must say that it is for lists. */
function maySignLists(ca: X509Certificate): boolean {
  const usage = extensionValue(ca, oids.keyUsage);
  return usage === undefined || ((readDer(usage).take(tags.bitString).content[1] ?? 0) & crlSignBit) !== 0;
}

function readList(der: Uint8Array, signers: readonly X509Certificate[]): List {
  checkDer(der);
  const list = readDer(readDer(der).take(tags.sequence).content);
  const body = list.take(tags.sequence);
  const algorithm = oidText(readDer(list.take(tags.sequence).content).take(tags.oid).content);
  const signature = wholeBits(list.take(tags.bitString).content);
  const fields = readDer(body.content);
  fields.takeIf(tags.integer);
  fields.take(tags.sequence);
  const issuer = fields.take(tags.sequence).raw;
  const scheme = signatureSchemes.find((known) => known.oid === algorithm);
  const signer = signers.find(
    (ca) =>
      scheme !== undefined &&
      Buffer.from(issuer).equals(subjectOf(ca)) &&
      ca.publicKey.asymmetricKeyType === scheme.family &&
      verify(scheme.hash, body.raw, ca.publicKey, signature),
  );
  if (!signer) throw new FairleadError("invalid", "a list of revoked certificates is not signed by the CA");
  takeTime(fields);
  const nextUpdate = fields.takeIf(tags.utcTime) ?? fields.takeIf(tags.generalizedTime);
  const entries = fields.takeIf(tags.sequence);
  fields.takeIf(contextTag(0, true));
  fields.end();
  return {
    revoked: entries ? serialsOf(entries.content).map((serial) => keyOf({ serial, issuer })) : [],
    signer,
    nextUpdate: nextUpdate && readTime(nextUpdate),
  };
}

function serialsOf(content: Uint8Array): readonly Uint8Array[] {
  const items = readDer(content);
  const serials: Uint8Array[] = [];
  while (!items.isAtEnd()) serials.push(readDer(items.take(tags.sequence).content).take(tags.integer).content);
  return serials;
}

function takeTime(fields: ReturnType<typeof readDer>): void {
  if (!(fields.takeIf(tags.utcTime) ?? fields.takeIf(tags.generalizedTime)))
    throw new FairleadError("invalid", "a list of revoked certificates has no date");
}

function keyOf({ serial, issuer }: { readonly serial: Uint8Array; readonly issuer: Uint8Array }): string {
  return `${Buffer.from(serial).toString("hex")} ${Buffer.from(issuer).toString("hex")}`;
}
