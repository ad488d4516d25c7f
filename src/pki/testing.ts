/** What tests of certificates need: another library to compare with, and CAs that revoke. */
import type { KeyObject, X509Certificate } from "node:crypto";
import { issueCertificate, serialAndIssuer, subjectOf } from "./certificate.ts";
import { algorithmIdentifier, signed } from "./csr.ts";
import { encode, sequence, tags, time, unsignedInteger } from "./der.ts";
import { generateKey, schemeOf } from "./key.ts";
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
