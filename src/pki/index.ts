export {
  chainsTo,
  formatBundle,
  isCalledOnly,
  parseCertificate,
  parseCertificates,
  shownWith,
  uriNames,
} from "./bundle.ts";
export {
  type CertificateOptions,
  type CertificateProfile,
  clockGraceMs,
  type EncodedCertificate,
  encodeCertificate,
  factsOf,
  formatCertificate,
  issueCertificate,
  type Signer,
} from "./certificate.ts";
export { hasRevocationList, parseRevocations, type Revocations } from "./crl.ts";
export { type CsrOptions, createCsr, parseCsr } from "./csr.ts";
export { type CsrNames, readCsrNames } from "./csr-names.ts";
export { ecdsaSignature } from "./ecdsa-signature.ts";
export { formatPrivateKey, generateKey, type KeyAlgorithm, type KeyPair, parsePrivateKey, sameKey } from "./key.ts";
export type { SubjectAltName, SubjectName } from "./name.ts";
export { formatPem, type PemBlock } from "./pem.ts";
export { createSecretFile, readSecretFile, replaceSecretFile } from "./secret-file.ts";
