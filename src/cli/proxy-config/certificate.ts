/** PEM text in; what istioctl tells of its first certificate out. What cannot be read says nothing and is not valid. */
import type { X509Certificate } from "node:crypto";
import { parseCertificate, uriNames } from "../../pki/index.ts";

export interface CertificateFacts {
  readonly type: string;
  readonly valid: boolean;
  readonly serialNumber: string;
  readonly notAfter: string;
  readonly notBefore: string;
  readonly trustDomain: string;
}

const unreadable: CertificateFacts = {
  type: "",
  valid: false,
  serialNumber: "",
  notAfter: "",
  notBefore: "",
  trustDomain: "",
};

/** A trust domain that is known beforehand wins over the certificate's own. */
export function certificateFacts(pem: string, trustDomain: string, now: Date): CertificateFacts {
  let certificate: X509Certificate;
  try {
    certificate = parseCertificate(pem);
  } catch {
    return unreadable;
  }
  const { validFromDate, validToDate } = certificate;
  return {
    type: certificate.ca ? "CA" : "Cert Chain",
    valid: now > validFromDate && now < validToDate,
    serialNumber: BigInt(`0x${certificate.serialNumber}`).toString(16).padStart(32, "0"),
    notAfter: seconds(validToDate),
    notBefore: seconds(validFromDate),
    trustDomain: trustDomain || spiffeDomain(certificate),
  };
}

function spiffeDomain(certificate: X509Certificate): string {
  const names = uriNames(certificate).filter((name) => name.startsWith("spiffe://"));
  return names.at(-1)?.slice("spiffe://".length).split("/")[0] ?? "";
}

function seconds(date: Date): string {
  return date.toISOString().replace(/\.\d+Z$/, "Z");
}
