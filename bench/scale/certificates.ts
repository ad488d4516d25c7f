/** The mesh's signing key in; a certificate for each account that the load has out, as its agents would get them. */
import { X509Certificate } from "node:crypto";
import { formatIdentity } from "../../src/model/index.ts";
import {
  formatCertificate,
  formatPrivateKey,
  generateKey,
  issueCertificate,
  parsePrivateKey,
} from "../../src/pki/index.ts";
import type { LoadProxy } from "./load-proxy.ts";

export interface Certificates {
  readonly ca: string;
  readonly byAccount: Readonly<Record<string, { readonly cert: string; readonly key: string }>>;
}

const hourMs = 3_600_000;

export async function issueAll(
  authority: Readonly<Record<string, string>>,
  proxies: readonly LoadProxy[],
): Promise<Certificates> {
  const root = authority["ca-cert.pem"] ?? "";
  const signer = {
    certificate: new X509Certificate(root),
    key: parsePrivateKey(authority["ca-key.pem"] ?? "").privateKey,
  };
  const { publicKey, privateKey } = await generateKey();
  const key = formatPrivateKey(privateKey);
  const accounts = new Map(proxies.map((proxy) => [`${proxy.namespace}/${proxy.account}`, proxy]));
  const byAccount = Object.fromEntries(
    [...accounts].map(([id, { namespace, account }]) => {
      const uri = formatIdentity({ trustDomain: "cluster.local", namespace, serviceAccount: account });
      const certificate = issueCertificate({
        profile: "leaf",
        altNames: [{ type: "uri", value: uri }],
        publicKey,
        signer,
        now: new Date(),
        ttlMs: 24 * hourMs,
      });
      return [id, { cert: formatCertificate(certificate), key }];
    }),
  );
  return { ca: root, byAccount };
}
