/**
 * A request in, the certificate that a signer of the Kubernetes API (certificates.k8s.io) gives for it out: the request is
 * handed in under the control plane's name, approved, waited for and taken away again. What comes back is looked at.
 */
import type { X509Certificate } from "node:crypto";
import type { IssuedCertificate } from "../../ca/index.ts";
import { type KubeClient, kubeKinds } from "../../kube/index.ts";
import { FairleadError, type Logger, readList, readRecord, readText } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";
import { chainsTo, formatBundle, formatCertificate, parseCertificates, parseCsr, sameKey } from "../../pki/index.ts";

export interface KubernetesSignerOptions {
  readonly client: KubeClient;
  /** Whom a signer's certificates lead to; empty where only its own answer says. */
  roots(signerName: string): readonly X509Certificate[];
  readonly now: () => Date;
  readonly log: Logger;
  /** How long a signer may take. */
  readonly timeoutMs?: number;
}

export interface KubernetesOrder {
  readonly signerName: string;
  readonly csr: string;
  /** Undefined leaves it to the signer. */
  readonly lifeMs: number | undefined;
  readonly usages: readonly string[];
}

/** What another has signed was read, to be judged. */
export interface SignedElsewhere extends IssuedCertificate {
  readonly certificate: X509Certificate;
}

export type SignByKubernetes = (order: KubernetesOrder, signal: AbortSignal) => Promise<SignedElsewhere>;

const requests = kubeKinds.certificateSigningRequests;

export function createKubernetesSigner(options: KubernetesSignerOptions): SignByKubernetes {
  return async (order, signal) => {
    const { publicKey } = parseCsr(order.csr);
    const limit = AbortSignal.any([signal, AbortSignal.timeout(options.timeoutMs ?? 60_000)]);
    const pem = await signedBy(order, options, limit);
    const { signerName } = order;
    const issued = readAnswer(pem, options.roots(signerName), signerName, options.now());
    if (!sameKey(issued.certificate.publicKey, publicKey)) throw refusedAnswer(signerName, "is of another key");
    return issued;
  };
}

async function signedBy(
  { signerName, csr, lifeMs, usages }: KubernetesOrder,
  { client, log }: KubernetesSignerOptions,
  signal: AbortSignal,
): Promise<string> {
  const spec = {
    request: Buffer.from(csr).toString("base64"),
    signerName,
    usages,
    ...(lifeMs === undefined ? {} : { expirationSeconds: Math.floor(lifeMs / 1000) }),
  };
  const metadata = { name: "", generateName: "csr-workload-" };
  const body = { apiVersion: "certificates.k8s.io/v1", kind: requests.kind, metadata, spec };
  const created = await client.create(requests, body, { signal });
  const { name } = created.metadata;
  try {
    const approved = await client.update(requests, withApproval(created), { subresource: "approval", signal });
    return await untilSigned(client, approved, signal);
  } finally {
    await client.delete(requests, { name }).catch((error: unknown) => {
      log.warn(`CertificateSigningRequest ${name} was left behind: ${FairleadError.from(error).message}`);
    });
  }
}

function withApproval(request: KubeObject): KubeObject {
  const message = "The control plane has checked the name that is asked for.";
  const condition = { type: "Approved", status: "True", reason: "NameChecked", message };
  const status = readRecord(request.status);
  return { ...request, status: { ...status, conditions: [...readList(status.conditions), condition] } };
}

async function untilSigned(client: KubeClient, approved: KubeObject, signal: AbortSignal): Promise<string> {
  const { name, resourceVersion } = approved.metadata;
  const found = certificateOf(approved);
  if (found !== undefined) return found;
  const fieldSelector = `metadata.name=${name}`;
  for await (const { type, object } of client.watch(requests, { fieldSelector, resourceVersion, signal })) {
    if (type === "ERROR" || type === "DELETED") break;
    const certificate = certificateOf(readRecord(object));
    if (certificate !== undefined) return certificate;
  }
  signal.throwIfAborted();
  throw new FairleadError("internal", `CertificateSigningRequest ${name} was gone before it was signed`);
}

/** Undefined while nobody has signed; throws where nobody will. */
function certificateOf(request: Readonly<Record<string, unknown>>): string | undefined {
  const status = readRecord(request.status);
  const certificate = readText(status.certificate);
  if (certificate !== "") return Buffer.from(certificate, "base64").toString("utf8");
  const failed = readList(status.conditions)
    .map(readRecord)
    .find(({ type }) => type === "Denied" || type === "Failed");
  if (failed)
    throw new FairleadError("internal", `the signer answered ${readText(failed.type)}: ${readText(failed.message)}`);
  return undefined;
}

/** The roots are those that are known for the signer; else its answer must end in one. */
function readAnswer(pem: string, known: readonly X509Certificate[], signerName: string, now: Date): SignedElsewhere {
  const [certificate, ...rest] = parseCertificates(pem);
  const isRoot = (one: X509Certificate): boolean => one.checkIssued(one);
  const roots = known.length > 0 ? known : rest.filter(isRoot);
  const between = rest.filter((one) => !isRoot(one));
  if (!certificate || roots.length === 0)
    throw refusedAnswer(signerName, "comes without its root, and MeshConfig caCertificates names none for it");
  if (!chainsTo(certificate, between, roots, now) || certificate.validToDate <= now)
    throw refusedAnswer(signerName, "does not lead to the signer's root, or has expired");
  return { certificate, chain: [certificate, ...between].map(formatCertificate), roots: formatBundle(roots) };
}

export function refusedAnswer(signerName: string, why: string): FairleadError {
  return new FairleadError("internal", `the certificate that ${signerName} gave ${why}`);
}
