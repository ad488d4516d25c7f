/** A signing bundle in, certificates for workloads and for the control plane itself out. */
import type { X509Certificate } from "node:crypto";
import { FairleadError } from "../lib/index.ts";
import { formatIdentity, type Identity, isIdentity } from "../model/index.ts";
import {
  type EncodedCertificate,
  encodeCertificate,
  formatBundle,
  formatCertificate,
  formatPrivateKey,
  generateKey,
  issueCertificate,
  type KeyAlgorithm,
  parseCsr,
  type SubjectAltName,
} from "../pki/index.ts";
import { type Binding, bindingFacts } from "./binding.ts";
import { allRoots } from "./rotation.ts";
import type { SigningBundle } from "./signing-bundle.ts";

export interface AuthorityOptions {
  readonly bundle: SigningBundle;
  readonly now: () => Date;
  readonly defaultTtlMs?: number;
  readonly maxTtlMs?: number;
  /** Roots of others, that workloads are told to believe besides the signer's; the same list until it changes. */
  readonly furtherRoots?: () => readonly X509Certificate[];
}

export interface IssuedCertificate {
  readonly certificate: Pick<EncodedCertificate, "serialNumber" | "validToDate">;
  /** Leaf, then what lies between it and the roots: one PEM each. */
  readonly chain: readonly string[];
  /** All roots in one PEM. */
  readonly roots: string;
}

export interface ServingCertificate {
  /** Leaf and intermediates. */
  readonly cert: string;
  readonly key: string;
  readonly notAfter: Date;
}

/** What a certificate is issued on. */
export interface Terms {
  readonly binding?: Binding | undefined;
  /** However long was asked for, no longer than this. */
  readonly maxLifeMs?: number | undefined;
}

export interface CertificateAuthority {
  /** How long a certificate lives for which so long a life was asked; throws `invalid` where that is too long. */
  lifetime(askedMs: number): number;
  /** The only name in the certificate is the identity; of the request nothing counts but its key. */
  sign(csrPem: string, identity: Identity, ttlMs: number, terms?: Terms): IssuedCertificate;
  issueServing(
    names: { readonly dns: readonly string[]; readonly addresses: readonly string[] },
    ttlMs?: number,
  ): Promise<ServingCertificate>;
  roots(): string;
  bundle(): SigningBundle;
  /**
   * From now on signs with another bundle. The control plane's own certificates may come from another signer: while a
   * root is changed, from the one that everybody has believed for long.
   */
  replaceBundle(bundle: SigningBundle, serving?: SigningBundle): void;
  /** Called after the bundle was replaced; returns the way to stop. */
  onReplaced(listener: () => void): () => void;
}

const hourMs = 3_600_000;
const servingTtlMs = 365 * 24 * hourMs;
const servingAlgorithm: KeyAlgorithm = "ecdsa-p256";

export function createCertificateAuthority(options: AuthorityOptions): CertificateAuthority {
  const { now, defaultTtlMs = 24 * hourMs, maxTtlMs = 90 * 24 * hourMs } = options;
  let current = options.bundle;
  let serving = options.bundle;
  let answer = answerOf(current, none);
  const listeners = new Set<() => void>();

  /** Istio's rule: none asked for is the default, too much is an error rather than a surprise. */
  function lifetime(asked: number): number {
    if (!(asked > 0)) return defaultTtlMs;
    if (asked > maxTtlMs)
      throw new FairleadError(
        "invalid",
        `the requested life of ${asked / 1000} s exceeds the maximum of ${maxTtlMs / 1000} s`,
      );
    return asked;
  }

  return {
    lifetime,
    sign(csrPem, identity, ttlMs, { binding, maxLifeMs = Number.POSITIVE_INFINITY } = {}) {
      if (!isIdentity(identity))
        throw new FairleadError("invalid", "the identity is not of the form ns/sa with well-formed names");
      const { publicKey } = parseCsr(csrPem);
      const altNames: readonly SubjectAltName[] = [{ type: "uri", value: formatIdentity(identity) }];
      const signer = current;
      const certificate = encodeCertificate({
        profile: "leaf",
        altNames,
        publicKey,
        signer,
        now: now(),
        ttlMs: Math.min(lifetime(ttlMs), maxLifeMs),
        ...(binding ? { facts: bindingFacts(binding) } : {}),
      });
      const further = options.furtherRoots?.() ?? none;
      if (answer.signer !== signer || answer.further !== further) answer = answerOf(signer, further);
      return { certificate, chain: [formatCertificate(certificate), ...answer.chain], roots: answer.roots };
    },
    async issueServing({ dns, addresses }, ttlMs = servingTtlMs) {
      const key = await generateKey(servingAlgorithm);
      const altNames: readonly SubjectAltName[] = [
        ...dns.map((value) => ({ type: "dns", value }) as const),
        ...addresses.map((value) => ({ type: "ip", value }) as const),
      ];
      const signer = serving;
      const certificate = issueCertificate({
        profile: "leaf",
        altNames,
        publicKey: key.publicKey,
        signer,
        now: now(),
        ttlMs,
      });
      return {
        cert: formatBundle([certificate, ...signer.chain]),
        key: formatPrivateKey(key.privateKey),
        notAfter: certificate.validToDate,
      };
    },
    roots: () => formatBundle(current.roots),
    bundle: () => current,
    replaceBundle(bundle, forServing = bundle) {
      [current, serving] = [bundle, forServing];
      for (const listener of listeners) listener();
    },
    onReplaced(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

const none: readonly X509Certificate[] = [];

/** What goes out with every certificate of a signer, as text. */
interface Answer {
  readonly signer: SigningBundle;
  readonly further: readonly X509Certificate[];
  readonly chain: readonly string[];
  readonly roots: string;
}

function answerOf(signer: SigningBundle, further: readonly X509Certificate[]): Answer {
  return {
    signer,
    further,
    chain: signer.chain.map(formatCertificate),
    roots: formatBundle(allRoots(signer.roots, further)),
  };
}

/** The Service of a control plane, as Istio's installations name it. */
export const controlPlaneService = (revision: string): string =>
  revision === "" || revision === "default" ? "istiod" : `istiod-${revision}`;

/** The names by which istiod is called, as Istio's own certificate has them. */
export function controlPlaneNames(namespace: string, revision = ""): readonly string[] {
  const services = new Set(["istiod", "istiod-remote", "istio-pilot", controlPlaneService(revision)]);
  return [...services].map((service) => `${service}.${namespace}.svc`);
}
