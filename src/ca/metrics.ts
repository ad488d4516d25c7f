/** The counters and gauges of the CA as a port, with Istio's names. */
import type { X509Certificate } from "node:crypto";
import type { CertificateAuthority } from "./authority.ts";

export type CaCounter =
  | "citadel_server_csr_count"
  | "citadel_server_success_cert_issuance_count"
  | "citadel_server_authentication_failure_count"
  | "citadel_server_csr_parsing_err_count"
  | "citadel_server_csr_sign_err_count"
  | "citadel_server_id_extraction_err_count";

export type CaGauge =
  | "citadel_server_root_cert_expiry_timestamp"
  | "citadel_server_root_cert_expiry_seconds"
  | "citadel_server_cert_chain_expiry_timestamp"
  | "citadel_server_cert_chain_expiry_seconds";

/** Why a request was not signed, in istiod's words: the label `error` of `citadel_server_csr_sign_err_count`. */
export type SigningFault = "CSR_ERROR" | "TTL_ERROR" | "CERT_GEN_ERROR" | "CA_NOT_READY";

export interface CaMetrics {
  count(name: CaCounter, labels?: { readonly error: SigningFault }): void;
}

/** Read when metrics are scraped. Undefined where there is no such certificate: a root that signs itself has no chain. */
export function caGauges(
  authority: CertificateAuthority,
  now: () => Date,
): Readonly<Record<CaGauge, number | undefined>> {
  const { roots, chain } = authority.bundle();
  const [root] = roots;
  const [signer] = chain;
  const seconds = (certificate: X509Certificate | undefined): number | undefined =>
    certificate && Math.floor(certificate.validToDate.getTime() / 1000);
  const left = (certificate: X509Certificate | undefined): number | undefined =>
    certificate && (certificate.validToDate.getTime() - now().getTime()) / 1000;
  return {
    citadel_server_root_cert_expiry_timestamp: seconds(root),
    citadel_server_root_cert_expiry_seconds: left(root),
    citadel_server_cert_chain_expiry_timestamp: seconds(signer),
    citadel_server_cert_chain_expiry_seconds: left(signer),
  };
}
