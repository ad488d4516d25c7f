/** Lists of revoked certificates (RFC 5280) and the CAs that may sign them in; whether a certificate is on one out. */
import { verify, type X509Certificate } from "node:crypto";
import { FairleadError } from "../lib/index.ts";
import { serialAndIssuer, subjectOf } from "./certificate.ts";
import { checkDer, contextTag, oidText, readDer, tags, wholeBits } from "./der.ts";
import { signatureSchemes } from "./key.ts";
import { parsePem } from "./pem.ts";

export interface Revocations {
  /** How many certificates are named. */
  readonly size: number;
  has(certificate: X509Certificate): boolean;
}

/** More than a CA of a mesh would ever revoke, and less than would fill memory. */
const maxListBytes = 4 * 1024 * 1024;

/** Throws `invalid` for a list that cannot be read, or that none of the CAs has signed. */
export function parseRevocations(pem: string, signers: readonly X509Certificate[]): Revocations {
  if (pem.length > maxListBytes) throw new FairleadError("too-large", "the list of revoked certificates is too large");
  const blocks = parsePem(pem).filter(({ label }) => label === "X509 CRL");
  if (pem.trim() !== "" && blocks.length === 0)
    throw new FairleadError("invalid", "there is no list of revoked certificates (X509 CRL)");
  const revoked = new Set(blocks.flatMap(({ der }) => revokedIn(der, signers)));
  return { size: revoked.size, has: (certificate) => revoked.has(keyOf(serialAndIssuer(certificate))) };
}

function revokedIn(der: Uint8Array, signers: readonly X509Certificate[]): readonly string[] {
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
  const isSigned = signers.some(
    (ca) =>
      scheme !== undefined &&
      Buffer.from(issuer).equals(subjectOf(ca)) &&
      ca.publicKey.asymmetricKeyType === scheme.family &&
      verify(scheme.hash, body.raw, ca.publicKey, signature),
  );
  if (!isSigned) throw new FairleadError("invalid", "a list of revoked certificates is not signed by the CA");
  takeTime(fields);
  fields.takeIf(tags.utcTime) ?? fields.takeIf(tags.generalizedTime);
  const entries = fields.takeIf(tags.sequence);
  fields.takeIf(contextTag(0, true));
  fields.end();
  return entries ? serialsOf(entries.content).map((serial) => keyOf({ serial, issuer })) : [];
}

function serialsOf(content: Uint8Array): readonly Uint8Array[] {
  const items = readDer(content);
  const serials: Uint8Array[] = [];
  while (!items.atEnd) serials.push(readDer(items.take(tags.sequence).content).take(tags.integer).content);
  return serials;
}

function takeTime(fields: ReturnType<typeof readDer>): void {
  if (!(fields.takeIf(tags.utcTime) ?? fields.takeIf(tags.generalizedTime)))
    throw new FairleadError("invalid", "a list of revoked certificates has no date");
}

function keyOf({ serial, issuer }: { readonly serial: Uint8Array; readonly issuer: Uint8Array }): string {
  return `${Buffer.from(serial).toString("hex")} ${Buffer.from(issuer).toString("hex")}`;
}
