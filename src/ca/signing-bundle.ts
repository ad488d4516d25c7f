/** A CA's files (or nothing) in, a checked key with its certificate, chain and roots out. */
import type { KeyObject, X509Certificate } from "node:crypto";
import { FairleadError } from "../lib/index.ts";
import {
  chainsTo,
  formatBundle,
  formatPrivateKey,
  generateKey,
  issueCertificate,
  type KeyAlgorithm,
  parseCertificate,
  parseCertificates,
  parsePrivateKey,
  sameKey,
} from "../pki/index.ts";

export interface SigningBundle {
  readonly certificate: X509Certificate;
  readonly key: KeyObject;
  /** What lies between a leaf and the roots, the signer first; empty where the signer is a root itself. */
  readonly chain: readonly X509Certificate[];
  readonly roots: readonly X509Certificate[];
}

/** Names of the files as users of Istio know them. */
export interface CaFiles {
  readonly "ca-cert.pem": string;
  readonly "ca-key.pem": string;
  readonly "cert-chain.pem"?: string;
  readonly "root-cert.pem"?: string;
  /** Lists of revoked certificates. */
  readonly "ca-crl.pem"?: string;
}

/** Reads a CA by the names of its files; undefined where there is no key, and so no CA. */
export function caFilesOf(read: (name: string) => string): CaFiles | undefined {
  const crl = { "ca-crl.pem": read("ca-crl.pem") };
  const key = read("ca-key.pem");
  if (key !== "")
    return {
      "ca-cert.pem": read("ca-cert.pem"),
      "ca-key.pem": key,
      "cert-chain.pem": read("cert-chain.pem"),
      "root-cert.pem": read("root-cert.pem"),
      ...crl,
    };
  // A Secret of type kubernetes.io/tls, as cert-manager makes them: the signer first, then what is above it.
  const tlsKey = read("tls.key");
  if (tlsKey === "") return undefined;
  const chain = read("tls.crt");
  return {
    "ca-cert.pem": chain,
    "ca-key.pem": tlsKey,
    "cert-chain.pem": chain,
    "root-cert.pem": read("ca.crt"),
    ...crl,
  };
}

export interface RootOptions {
  /** Istio names the trust domain as the root's organization. */
  readonly organization: string;
  readonly now: Date;
  readonly algorithm?: KeyAlgorithm;
  readonly ttlMs?: number;
}

const tenYearsMs = 3650 * 86_400_000;

export async function createSelfSignedBundle(options: RootOptions): Promise<SigningBundle> {
  const { publicKey, privateKey } = await generateKey(options.algorithm);
  const certificate = issueCertificate({
    profile: "ca",
    subject: { organization: options.organization },
    publicKey,
    signer: { certificate: undefined, key: privateKey },
    now: options.now,
    ttlMs: options.ttlMs ?? tenYearsMs,
  });
  return { certificate, key: privateKey, chain: [], roots: [certificate] };
}

/** Throws `invalid`, naming the file, for whatever could not sign certificates that a peer would accept now. */
export function parseSigningBundle(files: CaFiles, now: Date): SigningBundle {
  const certificate = inFile("ca-cert.pem", () => parseCertificate(files["ca-cert.pem"]));
  const key = inFile("ca-key.pem", () => parsePrivateKey(files["ca-key.pem"]));
  const chain = inFile("cert-chain.pem", () => parseCertificates(files["cert-chain.pem"] ?? ""));
  const rootText = files["root-cert.pem"] ?? "";
  const roots = inFile("root-cert.pem", () => parseCertificates(rootText === "" ? files["ca-cert.pem"] : rootText));
  if (!sameKey(certificate.publicKey, key.publicKey)) throw unfit("ca-key.pem is not the key of ca-cert.pem");
  if (!certificate.ca) throw unfit("ca-cert.pem is not allowed to sign certificates");
  if (now < certificate.validFromDate)
    throw unfit(`ca-cert.pem is not valid before ${certificate.validFromDate.toISOString()}`);
  if (now >= certificate.validToDate) throw unfit(`ca-cert.pem expired at ${certificate.validToDate.toISOString()}`);
  if (roots.length === 0) throw unfit("root-cert.pem has no certificate");
  if (!chainsTo(certificate, chain, roots, now))
    throw unfit("ca-cert.pem does not lead to root-cert.pem by cert-chain.pem");
  const isRoot = roots.some((root) => root.raw.equals(certificate.raw));
  const withSigner = isRoot || chain.some((link) => link.raw.equals(certificate.raw)) ? chain : [certificate, ...chain];
  return {
    certificate,
    key: key.privateKey,
    chain: withSigner.filter((link) => !roots.some((root) => root.raw.equals(link.raw))),
    roots,
  };
}

/** The inverse of `parseSigningBundle`; the result holds the private key. */
export function formatSigningBundle(bundle: SigningBundle): Required<Omit<CaFiles, "ca-crl.pem">> {
  return {
    "ca-cert.pem": formatBundle([bundle.certificate]),
    "ca-key.pem": formatPrivateKey(bundle.key),
    "cert-chain.pem": formatBundle(bundle.chain),
    "root-cert.pem": formatBundle(bundle.roots),
  };
}

function inFile<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw unfit(`${name}: ${FairleadError.from(error).message}`);
  }
}

function unfit(why: string): FairleadError {
  return new FairleadError("invalid", `the certificate authority cannot be used: ${why}`, {
    hint: "correct the CA secret or files; nothing is created in their place",
  });
}
