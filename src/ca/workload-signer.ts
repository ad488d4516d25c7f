/** A request for a workload's certificate in, the certificate out: the port of whoever signs, and the mesh's own CA as one. */
import type { Identity } from "../model/index.ts";
import type { CertificateAuthority, IssuedCertificate, Terms } from "./authority.ts";
import type { Issuances } from "./issuances.ts";
import { rootsId } from "./rotation.ts";
import type { SigningBundle } from "./signing-bundle.ts";

export interface SigningOrder {
  /** PEM; its key is not checked yet. */
  readonly csr: string;
  readonly identity: Identity;
  /** The life that was asked for; none where not positive. */
  readonly askedMs: number;
  readonly terms: Terms;
  /** Which of several signers is meant (`CertSigner` of the request); empty for the usual one. */
  readonly certSigner: string;
  /** Where it came from. */
  readonly address: string;
}

export interface WorkloadSigner {
  /** How long a certificate lives for which so long a life was asked; throws `invalid` where that is too long. */
  lifetime(askedMs: number): number;
  /** Throws `invalid` or `too-large` for a bad request, anything else where nothing was signed. */
  sign(order: SigningOrder, signal: AbortSignal): Promise<IssuedCertificate>;
}

/** The authority signs at once; who got what is noted. */
export function createOwnSigner(authority: CertificateAuthority, issuances?: Issuances): WorkloadSigner {
  let names = namesOf(authority.bundle());
  return {
    lifetime: authority.lifetime,
    async sign({ csr, identity, askedMs, terms, address }) {
      const bundle = authority.bundle();
      if (names.bundle !== bundle) names = namesOf(bundle);
      const issued = authority.sign(csr, identity, askedMs, terms);
      issuances?.note(identity, terms.binding, address, {
        signer: names.signer,
        roots: names.roots,
        until: issued.certificate.validToDate,
        serial: issued.certificate.serialNumber,
      });
      return issued;
    },
  };
}

/** What those who sign are known by; worked out once for each. */
function namesOf(bundle: SigningBundle) {
  return { bundle, signer: bundle.certificate.fingerprint256, roots: rootsId(bundle.roots) };
}
