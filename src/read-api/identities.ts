/** Certificates: who signs them, who is believed, who holds which. */
import type { Awaitable } from "./awaitable.ts";

export interface IdentityReads {
  identities(): Awaitable<Identities>;
}

export interface Identities {
  readonly source: string;
  readonly signer?: CertificateFacts;
  readonly roots: readonly CertificateFacts[];
  /** Why what was given as a CA is not used. */
  readonly refused?: string;
  readonly rotation?: Rotation;
  readonly proxies: readonly CertificateHolder[];
  /** By this control plane since it began, the last 500, newest first. */
  readonly issued: readonly IssuedCertificate[];
}

export interface Rotation {
  readonly id: string;
  readonly phase: string;
  readonly startedAt: string;
  readonly since: string;
  readonly rollback: boolean;
  /** Proxies that are no longer waited for. */
  readonly ignored: readonly string[];
}

export interface CertificateFacts {
  readonly name: string;
  readonly subject: string;
  readonly serial: string;
  readonly fingerprint: string;
  readonly until: string;
}

export interface CertificateHolder {
  /** `pod.namespace`. */
  readonly proxy: string;
  /** How it learns of roots. */
  readonly told: string;
  readonly believesAll: boolean;
  readonly signedBy: string;
  readonly isReissued: boolean;
  /** Of its certificate, where this control plane has issued it since it began. */
  readonly serial?: string;
  readonly until?: string;
}

/** A certificate that was issued. */
export interface IssuedCertificate {
  readonly identity: string;
  readonly namespace: string;
  /** Empty where nothing says in which Pod it is. */
  readonly pod: string;
  /** That it was asked for from. */
  readonly address: string;
  readonly serial: string;
  readonly until: string;
}
