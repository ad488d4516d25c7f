/** A request for a workload's certificate in, the certificate of a CA elsewhere out: the port of an external CA. */
import type { Identity } from "../model/index.ts";
import type { IssuedCertificate, Terms } from "./authority.ts";

export interface SigningOrder {
  /** PEM; its key is not checked yet. */
  readonly csr: string;
  readonly identity: Identity;
  /** The life that was asked for; none where not positive. */
  readonly askedMs: number;
  readonly terms: Terms;
  /** Which of several signers is meant (`CertSigner` of the request); empty for the usual one. */
  readonly certSigner: string;
}

export interface WorkloadSigner {
  /** Throws `invalid` for a request that asks for more than its caller is, anything else where nothing was signed. */
  sign(order: SigningOrder, signal: AbortSignal): Promise<IssuedCertificate>;
}
