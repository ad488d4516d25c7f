/** A certificate that was issued in, its line in the audit out: whose it is, its serial, until when, and who came for it. */
import type { Logger } from "../lib/index.ts";
import type { EncodedCertificate } from "../pki/index.ts";

export interface IssuanceRecord {
  /** What the certificate calls its holder: an identity, or the names of a server. */
  readonly identity: string;
  readonly certificate: Pick<EncodedCertificate, "serialNumber" | "validToDate">;
  /** Address that it was asked from; `self` for what the control plane issues to itself. */
  readonly client: string;
}

/** Every way to a certificate of the mesh's CA ends here. */
export function auditIssuance(log: Logger, { identity, certificate, client }: IssuanceRecord): void {
  log.scope("ca").info("certificate issued", {
    identity,
    serial: certificate.serialNumber,
    until: certificate.validToDate.toISOString(),
    client,
  });
}
