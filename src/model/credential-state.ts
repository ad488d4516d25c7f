/** A certificate, with its key where it has one, and the time in; whether it can be used, and for how much longer, out. */
import { createPrivateKey, X509Certificate } from "node:crypto";

export type CredentialState =
  | { readonly state: "good" | "expiring"; readonly until: Date }
  | { readonly state: "expired" | "broken"; readonly cause: string; readonly until?: Date };

const weekMs = 7 * 86_400_000;
const maxBytes = 1024 * 1024;

/** Expiring: a week before its end, or with a tenth of its life left where it lives for less than ten weeks. */
export function credentialState(
  { cert, key }: { readonly cert: Uint8Array; readonly key?: Uint8Array },
  now: Date,
): CredentialState {
  if (cert.length > maxBytes) return { state: "broken", cause: "its certificate is too large" };
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(cert);
  } catch {
    return { state: "broken", cause: "its certificate cannot be read" };
  }
  if (key && !isKeyOf(certificate, key)) return { state: "broken", cause: "its key is not that of its certificate" };
  const [from, until] = [certificate.validFromDate, certificate.validToDate];
  if (now < from)
    return { state: "expired", cause: `its certificate is not valid before ${from.toISOString()}`, until };
  if (now > until) return { state: "expired", cause: `its certificate expired at ${until.toISOString()}`, until };
  const [leftMs, lifeMs] = [until.getTime() - now.getTime(), until.getTime() - from.getTime()];
  return { state: leftMs < Math.min(weekMs, lifeMs / 10) ? "expiring" : "good", until };
}

function isKeyOf(certificate: X509Certificate, key: Uint8Array): boolean {
  try {
    return certificate.checkPrivateKey(createPrivateKey(Buffer.from(key)));
  } catch {
    return false;
  }
}
