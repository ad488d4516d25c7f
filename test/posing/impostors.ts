/** The mesh's own authority in; what a Pod may show that answers where agents look for the control plane, and what agents say of it, out. */
import { type CertificateAuthority, createSelfSignedBundle } from "../../src/ca/index.ts";
import {
  type CertificateOptions,
  formatCertificate,
  formatPrivateKey,
  generateKey,
  issueCertificate,
} from "../../src/pki/index.ts";

export interface Impostor {
  /** Undefined: one that speaks no TLS. */
  readonly shown: { readonly cert: string; readonly key: string } | undefined;
  readonly said: string;
  /** It shows a certificate of the mesh, by which it is an account. */
  readonly isWorkload?: true;
}

const [dayMs, notSigned] = [
  86_400_000,
  "none of the root certificates that are trusted here has signed its certificate",
];
const account = "spiffe://cluster.local/ns/ns/sa/evil";

export async function createImpostors(mesh: CertificateAuthority, name: string): Promise<readonly Impostor[]> {
  const now = new Date();
  const other = await createSelfSignedBundle({ organization: "cluster.local", now });
  const key = await generateKey();
  const server = { profile: "leaf", altNames: [{ type: "dns", value: name }], ttlMs: dayMs, now } as const;
  const workload = { ...server, altNames: [{ type: "uri", value: account }] } as const;
  const shows = (options: Omit<CertificateOptions, "publicKey" | "signer">, signer = mesh.bundle(), sent = "") => ({
    cert: formatCertificate(issueCertificate({ ...options, publicKey: key.publicKey, signer })) + sent,
    key: formatPrivateKey(key.privateKey),
  });
  const alone = issueCertificate({
    ...{ ...server, publicKey: key.publicKey },
    signer: { certificate: undefined, key: key.privateKey },
  });
  const elsewhere = `its certificate is for URI:${account}, not for ${name}`;
  return [
    { shown: shows(server, other), said: notSigned },
    { shown: shows(server, other, formatCertificate(other.certificate)), said: notSigned },
    {
      shown: { cert: formatCertificate(alone), key: formatPrivateKey(key.privateKey) },
      said: "its certificate is self-signed",
    },
    { shown: shows(workload), said: elsewhere, isWorkload: true },
    // A CA that puts the subject into certificates as it was asked for.
    { shown: shows({ ...workload, subject: { commonName: name } }), said: elsewhere, isWorkload: true },
    {
      shown: shows({ ...server, altNames: [{ type: "dns", value: "evil.ns.svc" }] }),
      said: `its certificate is for DNS:evil.ns.svc, not for ${name}`,
    },
    { shown: shows({ ...server, profile: "client" }), said: "its certificate is not one for servers" },
    {
      shown: shows({ ...server, now: new Date(now.getTime() - 2 * dayMs) }),
      said: "its certificate has expired, or the clock of this machine is wrong",
    },
    { shown: undefined, said: "it does not speak TLS" },
  ];
}
