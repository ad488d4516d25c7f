/** PEM bundles in, certificates out; and the questions asked of chains of them. */
import { X509Certificate } from "node:crypto";
import { FairleadError } from "../lib/index.ts";
import { extensionValue, formatCertificate } from "./certificate.ts";
import { contextTag, readDer, tags } from "./der.ts";
import { oids } from "./oids.ts";
import { parsePem } from "./pem.ts";

/** All certificates of a file, in its order; other blocks and text between them are passed over. */
export function parseCertificates(pem: string): readonly X509Certificate[] {
  return parsePem(pem)
    .filter((block) => block.label === "CERTIFICATE")
    .map((block) => parseCertificateDer(block.der));
}

/** The first certificate of a file; throws where there is none. */
export function parseCertificate(pem: string): X509Certificate {
  const [first] = parseCertificates(pem);
  if (!first) throw new FairleadError("invalid", "the file has no certificate");
  return first;
}

function parseCertificateDer(der: Uint8Array): X509Certificate {
  try {
    return new X509Certificate(der);
  } catch (cause) {
    throw new FairleadError("invalid", "a certificate cannot be read", { cause });
  }
}

export function formatBundle(certificates: readonly X509Certificate[]): string {
  return certificates.map(formatCertificate).join("");
}

/**
 * True where the certificate is signed, step by step, through the intermediates up to one of the roots, and every
 * link is a CA in its time of life. The leaf's own life is the caller's question.
 */
export function chainsTo(
  certificate: X509Certificate,
  intermediates: readonly X509Certificate[],
  roots: readonly X509Certificate[],
  now: Date,
): boolean {
  const alive = (ca: X509Certificate): boolean => ca.ca && ca.validFromDate <= now && now < ca.validToDate;
  const signedBy = (child: X509Certificate, ca: X509Certificate): boolean =>
    alive(ca) && child.checkIssued(ca) && child.verify(ca.publicKey);
  let current = certificate;
  for (let step = 0; step <= intermediates.length; step++) {
    const link = current;
    if (roots.some((root) => root.raw.equals(link.raw) || signedBy(link, root))) return true;
    const next = intermediates.find((ca) => !ca.raw.equals(link.raw) && signedBy(link, ca));
    if (!next) return false;
    current = next;
  }
  return false;
}

/** More than any peer has between its certificate and a root. */
const maxShown = 10;

/** What a peer has shown beside its certificate, in its order; nothing says yet that one has signed the other. */
export function shownWith(certificate: X509Certificate): readonly X509Certificate[] {
  const shown: X509Certificate[] = [];
  for (let next = certificate.issuerCertificate; next && shown.length < maxShown; next = next.issuerCertificate)
    shown.push(next);
  return shown;
}

/** The URI names (SPIFFE ids) of a certificate, read from its bytes: printed forms of names can be forged. */
export function uriNames(certificate: X509Certificate): readonly string[] {
  return altNames(certificate).uris;
}

/** Whether that URI is all that a certificate calls its holder. */
export function isCalledOnly(certificate: X509Certificate, uri: string): boolean {
  const { uris, hasOthers } = altNames(certificate);
  return !hasOthers && uris.length === 1 && uris[0] === uri;
}

function altNames(certificate: X509Certificate): { readonly uris: readonly string[]; readonly hasOthers: boolean } {
  const value = extensionValue(certificate, oids.subjectAltName);
  const names = readDer(value ? readDer(value).take(tags.sequence).content : new Uint8Array());
  const uris: string[] = [];
  let hasOthers = false;
  while (!names.isAtEnd()) {
    const uri = names.takeIf(contextTag(6, false));
    if (uri) uris.push(Buffer.from(uri.content).toString("latin1"));
    else {
      names.takeAny();
      hasOthers = true;
    }
  }
  return { uris, hasOthers };
}
