/** What tests of certificates need: another library to compare with, CAs that revoke, and requests that are wrong. */
import { type KeyObject, sign, type X509Certificate } from "node:crypto";
import { issueCertificate, serialAndIssuer, subjectOf } from "./certificate.ts";
import { algorithmIdentifier, signed } from "./csr.ts";
import { bitString, contextTag, encode, octetString, oid, sequence, set, tags, time, unsignedInteger } from "./der.ts";
import { generateKey, type KeyPair, schemeOf } from "./key.ts";
import { oids } from "./oids.ts";
import { formatPem } from "./pem.ts";

/** The independent X.509 library that tests compare with; it needs the metadata hooks that its decorators call, and finds none in Node. */
export async function loadIndependentX509(): Promise<typeof import("@peculiar/x509")> {
  const none = (): undefined => undefined;
  const hooks = { defineMetadata: none, getMetadata: none, getOwnMetadata: none, hasOwnMetadata: () => false };
  for (const [name, hook] of Object.entries(hooks))
    if (!(name in Reflect)) Object.defineProperty(Reflect, name, { value: hook });
  return import("@peculiar/x509");
}

/** A CA that signs what tests ask for. */
export interface TestCa {
  readonly certificate: X509Certificate;
  readonly key: KeyObject;
  leaf(name: string): Promise<X509Certificate>;
}

export async function testCa(commonName: string): Promise<TestCa> {
  const { publicKey, privateKey: key } = await generateKey();
  const terms = { now: new Date(), ttlMs: 3_600_000 };
  const signer = { certificate: undefined, key };
  const certificate = issueCertificate({ ...terms, profile: "ca", subject: { commonName }, publicKey, signer });
  return {
    certificate,
    key,
    leaf: async (name) =>
      issueCertificate({
        ...{ ...terms, profile: "leaf", subject: { commonName: name }, publicKey: (await generateKey()).publicKey },
        signer: { certificate, key },
      }),
  };
}

/** The CA's list of these certificates, PEM. */
export function revoke(
  ca: Pick<TestCa, "certificate" | "key">,
  revoked: readonly X509Certificate[],
  nextUpdate?: Date,
): string {
  const now = time(new Date());
  const entries = revoked.map((one) => sequence(encode(tags.integer, serialAndIssuer(one).serial), now));
  const body = sequence(
    unsignedInteger(Buffer.of(1)),
    algorithmIdentifier(schemeOf(ca.key)),
    subjectOf(ca.certificate),
    now,
    ...(nextUpdate ? [time(nextUpdate)] : []),
    ...(entries.length > 0 ? [sequence(...entries)] : []),
  );
  return formatCrl(signed(body, ca.key));
}

export function formatCrl(der: Uint8Array): string {
  return formatPem("X509 CRL", der);
}

/** A request assembled by hand, so that each part can be wrong. */
export function handmadeCsr(parts: {
  spki: Uint8Array;
  key: KeyPair;
  algorithm?: Buffer;
  hash?: string;
  attributes?: readonly Buffer[];
}): string {
  const info = sequence(
    unsignedInteger(Buffer.of(0)),
    sequence(),
    parts.spki,
    encode(contextTag(0, true), ...(parts.attributes ?? [])),
  );
  const signature = sign(parts.hash ?? "sha256", info, parts.key.privateKey);
  return formatPem(
    "CERTIFICATE REQUEST",
    sequence(info, parts.algorithm ?? sequence(oid(oids.ecdsaSha256)), bitString(signature)),
  );
}

/** A request that asks for all extensions of the list. */
export function csrWithExtensions(
  key: KeyPair,
  extensions: readonly (readonly [oid: string, value: Buffer])[],
): string {
  const encoded = extensions.map(([name, value]) => sequence(oid(name), octetString(value)));
  const attributes = [sequence(oid(oids.extensionRequest), set(sequence(...encoded)))];
  return handmadeCsr({ spki: key.publicKey.export({ type: "spki", format: "der" }), key, attributes });
}
