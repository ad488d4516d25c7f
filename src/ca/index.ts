export { auditIssuance } from "./audit.ts";
export {
  type AuthorityOptions,
  type CertificateAuthority,
  controlPlaneNames,
  controlPlaneService,
  createCertificateAuthority,
  type IssuedCertificate,
  type ServingCertificate,
} from "./authority.ts";
export type { AuthorizeNode, Issuance, IssuanceRequest } from "./authorize.ts";
export { bindingOf } from "./binding.ts";
export { createIssuances, type Holder, type Issuances } from "./issuances.ts";
export { type CaCounter, type CaGauge, type CaMetrics, caGauges } from "./metrics.ts";
export { createRateLimit, type RateLimit, type RateLimitOptions } from "./rate-limit.ts";
export {
  allRoots,
  bundleTexts,
  type FormerCa,
  firstPhase,
  nextPhase,
  type Rotation,
  type RotationPhase,
  rollBack,
  rootsId,
  servingSignerOf,
  signerOf,
} from "./rotation.ts";
export { formatRotation, isUnderWay, parseRotation, parseRotationFacts, type RotationFacts } from "./rotation-data.ts";
export { type CaSecretStore, caSecretName, caSecretType, loadOrCreateCa } from "./secret-store.ts";
export {
  type AcceptsPeer,
  type AuthenticateToken,
  type CertificateServiceOptions,
  createCertificateService,
  type StillThere,
  type TokenBearer,
} from "./service.ts";
export {
  type CaFiles,
  caFilesOf,
  createSelfSignedBundle,
  formatSigningBundle,
  parseSigningBundle,
  type RootOptions,
  type SigningBundle,
} from "./signing-bundle.ts";
export { createOwnSigner, type SigningOrder, type WorkloadSigner } from "./workload-signer.ts";
