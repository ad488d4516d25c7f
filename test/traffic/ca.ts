/** Nothing in; a certificate authority for one test run out: certificates of servers, and what an agent serves its Envoy. */
import { createSecretSource, type SecretSource } from "../../src/agent/identity/secrets.ts";
import { silentLogger } from "../../src/lib/index.ts";
import { formatCertificate, formatPrivateKey, generateKey, issueCertificate } from "../../src/pki/index.ts";

export interface ServerIdentity {
  readonly cert: string;
  readonly key: string;
}

export interface TestCa {
  readonly roots: string;
  server(names: readonly string[]): Promise<ServerIdentity>;
  /** The secrets of a workload in namespace default. */
  workload(account: string): Promise<SecretSource>;
}

export async function createCa(): Promise<TestCa> {
  const own = await generateKey();
  const life = { subject: { organization: "test" }, now: new Date(), ttlMs: 3_600_000 };
  const self = { certificate: undefined, key: own.privateKey };
  const root = issueCertificate({ ...life, profile: "ca", publicKey: own.publicKey, signer: self });
  const signer = { certificate: root, key: own.privateKey };
  const roots = formatCertificate(root);
  const issue = async (profile: "leaf" | "server", altNames: { type: "uri" | "dns"; value: string }[]) => {
    const pair = await generateKey();
    const certificate = issueCertificate({ ...life, profile, altNames, publicKey: pair.publicKey, signer });
    return { cert: formatCertificate(certificate), key: formatPrivateKey(pair.privateKey) };
  };
  return {
    roots,
    server: (names: readonly string[]) =>
      issue(
        "server",
        names.map((value) => ({ type: "dns", value })),
      ),
    async workload(account: string): Promise<SecretSource> {
      const own = await issue("leaf", [{ type: "uri", value: `spiffe://cluster.local/ns/default/sa/${account}` }]);
      const now = new Date();
      const credentials = { chain: own.cert, key: own.key, roots, notAfter: now };
      const identity = {
        current: () => credentials,
        onChange: () => () => {},
        renewSoon: () => {},
        run: async () => {},
      };
      return createSecretSource({ identity, extraRoots: () => "", log: silentLogger });
    },
  };
}
