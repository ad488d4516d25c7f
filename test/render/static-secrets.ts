/** Resources as JSON in; the same with every secret written out, as a validating Envoy looks only at those it has, out. */
import { formatCertificate, formatPrivateKey, generateKey, issueCertificate } from "../../src/pki/index.ts";
import type { Json } from "./offline.ts";

export async function createStaticSecrets(): Promise<(json: Json) => Json> {
  const [ca, leaf] = await Promise.all([generateKey(), generateKey()]);
  const life = { subject: { organization: "test" }, now: new Date(), ttlMs: 3_600_000 };
  const self = { certificate: undefined, key: ca.privateKey };
  const root = issueCertificate({ ...life, profile: "ca", publicKey: ca.publicKey, signer: self });
  const signer = { certificate: root, key: ca.privateKey };
  // Envoy refuses to serve with a certificate that names nobody.
  const altNames = [{ type: "uri", value: "spiffe://cluster.local/ns/default/sa/test" }] as const;
  const certificate = issueCertificate({ ...life, profile: "leaf", altNames, publicKey: leaf.publicKey, signer });
  const own = {
    certificateChain: { inlineString: formatCertificate(certificate) },
    privateKey: { inlineString: formatPrivateKey(leaf.privateKey) },
  };
  const trusted = { inlineString: formatCertificate(root) };
  const rewrite = (json: Json): Json => {
    if (Array.isArray(json)) return json.map(rewrite);
    if (typeof json !== "object" || json === null) return json;
    return Object.fromEntries(Object.entries(json).map(([key, value]) => member(key, value)));
  };
  const member = (key: string, value: Json): [string, Json] => {
    if (key === "tlsCertificateSdsSecretConfigs") return ["tlsCertificates", value.map(() => own)];
    if (key !== "combinedValidationContext") return [key, rewrite(value)];
    const { crl: _, ...rest } = value.defaultValidationContext ?? {};
    return ["validationContext", { ...rest, trustedCa: trusted }];
  };
  return rewrite;
}
