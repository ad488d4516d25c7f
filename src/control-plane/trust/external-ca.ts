/**
 * A CA behind the Kubernetes API (`EXTERNAL_CA=ISTIOD_RA_KUBERNETES_API`) in; who signs for workloads, and where it is so
 * wanted for the control plane itself, out. Such a signer goes by what a request says: one that says more than who its
 * caller is never reaches it.
 */
import type { X509Certificate } from "node:crypto";
import type { SigningOrder, WorkloadSigner } from "../../ca/index.ts";
import type { KubeClient } from "../../kube/index.ts";
import { FairleadError, type Logger } from "../../lib/index.ts";
import { formatIdentity } from "../../model/index.ts";
import {
  createCsr,
  formatBundle,
  formatPrivateKey,
  generateKey,
  isCalledOnly,
  parseCertificates,
  parseCsr,
  readCsrNames,
} from "../../pki/index.ts";
import type { FurtherRoots } from "./further-roots.ts";
import { createKubernetesSigner, refusedAnswer, type SignByKubernetes } from "./kubernetes-signer.ts";
import type { Serving } from "./serving.ts";

export interface ExternalCaOptions {
  /** Who signs where a request names nobody (K8S_SIGNER). */
  readonly signerName: string;
  /** What stands before the names that requests give (CERT_SIGNER_DOMAIN). */
  readonly domain: string;
  /** Whom certificates of all of them lead to, PEM; where empty, MeshConfig says it by signer, or a signer's answer. */
  readonly rootsPem: string;
  /** Who signs for the control plane itself (PILOT_CERT_PROVIDER=k8s.io/NAME); empty for the mesh's own CA. */
  readonly servingSigner: string;
}

export interface ExternalCa {
  readonly signer: WorkloadSigner;
  /** Whom its certificates lead to, as far as that is known beforehand. */
  roots(): readonly X509Certificate[];
  readonly serving: Serving | undefined;
}

interface Parts extends ExternalCaOptions {
  readonly client: KubeClient;
  readonly further: FurtherRoots;
  readonly certificates: { readonly defaultTtlMs: number; readonly maxTtlMs: number } | undefined;
  readonly now: () => Date;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

const dayMs = 86_400_000;
const usualLives = { defaultTtlMs: dayMs, maxTtlMs: 90 * dayMs };
/** Of a CertificateSigningRequest; the API refuses less. */
const leastMs = 600_000;
/** By which clocks of signers may be ahead. */
const skewMs = 5 * 60_000;
const serverUsages = ["digital signature", "key encipherment", "server auth"];
const workloadUsages = [...serverUsages, "client auth"];

export function createExternalCa(parts: Parts): ExternalCa {
  const { further, servingSigner } = parts;
  const fixed = parseCertificates(parts.rootsPem);
  const rootsOf = (name: string): readonly X509Certificate[] => (fixed.length > 0 ? fixed : further.ofSigner(name));
  const sign = createKubernetesSigner({ ...parts, roots: rootsOf });
  return {
    signer: workloadSigner(parts, sign),
    roots: () => (fixed.length > 0 ? fixed : further.ofSigner(undefined)),
    serving: servingSigner === "" ? undefined : servingBy(servingSigner, parts, rootsOf, sign),
  };
}

function workloadSigner(parts: Parts, sign: SignByKubernetes): WorkloadSigner {
  const { defaultTtlMs, maxTtlMs } = parts.certificates ?? usualLives;
  const lifetime: WorkloadSigner["lifetime"] = (askedMs) => {
    if (askedMs > maxTtlMs)
      throw new FairleadError("invalid", `the requested life exceeds the maximum of ${maxTtlMs / 1000} s`);
    return atLeast(askedMs > 0 ? askedMs : defaultTtlMs);
  };
  return {
    lifetime,
    async sign(order, signal) {
      const { csr, askedMs, terms, identity } = order;
      const signerName = signerNameOf(order.certSigner, parts);
      checkNames(order);
      const lifeMs = atLeast(Math.min(lifetime(askedMs), terms.maxLifeMs ?? maxTtlMs));
      const issued = await sign({ signerName, csr, usages: workloadUsages, lifeMs }, signal);
      const { certificate } = issued;
      if (!isCalledOnly(certificate, formatIdentity(identity))) throw refusedAnswer(signerName, "has another name");
      if (certificate.ca) throw refusedAnswer(signerName, "is a CA's");
      // Some signers have a least life of their own, so what was asked for is no measure.
      if (certificate.validToDate.getTime() > parts.now().getTime() + maxTtlMs + skewMs)
        throw refusedAnswer(signerName, `lives for more than MAX_WORKLOAD_CERT_TTL, ${maxTtlMs / 1000} s`);
      return issued;
    },
  };
}

/** Nobody is given a longer life than was asked for. */
function atLeast(lifeMs: number): number {
  if (lifeMs >= leastMs) return lifeMs;
  throw new FairleadError(
    "invalid",
    `a life of ${lifeMs / 1000} s is asked for, and Kubernetes signs for no less than ${leastMs / 1000} s`,
    { hint: "set SECRET_TTL of the agent, or DEFAULT_WORKLOAD_CERT_TTL, to ten minutes or more" },
  );
}

function signerNameOf(asked: string, { domain, signerName }: ExternalCaOptions): string {
  if (asked !== "" && domain === "")
    throw new FairleadError("internal", `CERT_SIGNER_DOMAIN is required for signer ${JSON.stringify(asked)}`);
  const name = asked === "" ? signerName : `${domain}/${asked}`;
  if (name === "") throw new FairleadError("internal", "no signer is named: set K8S_SIGNER, or CERT_SIGNER_DOMAIN");
  return name;
}

function checkNames({ csr, identity }: SigningOrder): void {
  parseCsr(csr);
  const { uris, asksForMore } = readCsrNames(csr);
  if (asksForMore || uris.length !== 1 || uris[0] !== formatIdentity(identity))
    throw new FairleadError("invalid", "the request asks for another name than its caller's, or for more than a name");
}

function servingBy(
  signerName: string,
  { signal }: Parts,
  rootsOf: (name: string) => readonly X509Certificate[],
  sign: SignByKubernetes,
): Serving {
  return {
    async issue({ dns, addresses }) {
      const key = await generateKey();
      const altNames = [
        ...dns.map((value) => ({ type: "dns", value }) as const),
        ...addresses.map((value) => ({ type: "ip", value }) as const),
      ];
      const order = { signerName, csr: createCsr({ key, altNames }), usages: serverUsages, lifeMs: undefined };
      const { certificate, chain } = await sign(order, signal);
      return { cert: chain.join(""), key: formatPrivateKey(key.privateKey), notAfter: certificate.validToDate };
    },
    roots: () => formatBundle(rootsOf(signerName)),
    onReplaced: () => () => {},
  };
}
