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
  parseCertificates,
  parseCsr,
  readCsrNames,
  uriNames,
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
  readonly certificates: { readonly maxTtlMs: number } | undefined;
  readonly now: () => Date;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

const dayMs = 86_400_000;
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
  const maxMs = parts.certificates?.maxTtlMs ?? 90 * dayMs;
  const none = Number.POSITIVE_INFINITY;
  return {
    lifetime(askedMs) {
      if (askedMs > maxMs)
        throw new FairleadError("invalid", `the requested life exceeds the maximum of ${maxMs / 1000} s`);
      return askedMs;
    },
    async sign(order, signal) {
      const { csr, askedMs, terms, identity } = order;
      const signerName = signerNameOf(order.certSigner, parts);
      checkNames(order);
      const lifeMs = Math.min(askedMs > 0 ? askedMs : none, terms.maxLifeMs ?? none);
      const asked = { signerName, csr, usages: workloadUsages, lifeMs: lifeMs === none ? undefined : lifeMs };
      const issued = await sign(asked, signal);
      const [name, ...others] = uriNames(issued.certificate);
      if (name !== formatIdentity(identity) || others.length > 0) throw refusedAnswer(signerName, "has another name");
      return issued;
    },
  };
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
