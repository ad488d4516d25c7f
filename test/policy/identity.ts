/** Certificates of the mesh, and of the clients that the suite sends requests as. */
import {
  formatCertificate,
  formatPrivateKey,
  generateKey,
  issueCertificate,
  type Signer,
} from "../../src/pki/index.ts";
import type { Peer } from "./request.ts";

export interface Credentials {
  readonly cert: string;
  readonly key: string;
}

export interface Identities {
  readonly root: string;
  issue(peer: Peer): Promise<Credentials>;
}

export async function createIdentities(): Promise<Identities> {
  const life = { subject: { organization: "test" }, now: new Date(), ttlMs: 3_600_000 };
  const ca = await generateKey();
  const self = { certificate: undefined, key: ca.privateKey };
  const root = issueCertificate({ ...life, profile: "ca", publicKey: ca.publicKey, signer: self });
  const signer: Signer = { certificate: root, key: ca.privateKey };
  const known = new Map<string, Promise<Credentials>>();
  const issue = async (value: string): Promise<Credentials> => {
    const leaf = await generateKey();
    const altNames = [{ type: "uri", value }] as const;
    const certificate = issueCertificate({ ...life, profile: "leaf", altNames, publicKey: leaf.publicKey, signer });
    return { cert: formatCertificate(certificate), key: formatPrivateKey(leaf.privateKey) };
  };
  return {
    root: formatCertificate(root),
    issue({ trustDomain, namespace, account }) {
      const id = `spiffe://${trustDomain}/ns/${namespace}/sa/${account}`;
      const found = known.get(id) ?? issue(id);
      known.set(id, found);
      return found;
    },
  };
}
