import { expect, test } from "vitest";
import { formatCertificate, formatPrivateKey, generateKey, issueCertificate } from "../pki/index.ts";
import { credentialState } from "./credential-state.ts";

const now = new Date("2026-11-16T12:00:00Z");
const day = 86_400_000;
const at = (days: number): Date => new Date(now.getTime() + days * day);

async function made(fromDays: number, lifeDays: number) {
  const { publicKey, privateKey } = await generateKey();
  const signer = { certificate: undefined, key: privateKey };
  const terms = { profile: "server", subject: { commonName: "a" }, publicKey, signer } as const;
  const certificate = issueCertificate({ ...terms, now: at(fromDays), ttlMs: lifeDays * day });
  return { cert: Buffer.from(formatCertificate(certificate)), key: Buffer.from(formatPrivateKey(privateKey)) };
}

test.each([
  ["good", 0, 90],
  ["good", -82, 90],
  ["expiring", -84, 90],
  ["good", 0, 1],
  ["expiring", -0.95, 1],
  ["expired", -90, 80],
  ["expired", 1, 90],
] as const)("%s: begun %s days from now, for %s days", async (state, from, life) => {
  expect(credentialState(await made(from, life), now).state).toBe(state);
});

test("broken: no certificate, no key, or that of another", async () => {
  const [one, other] = [await made(0, 90), await made(0, 90)];
  const junk = Buffer.from("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
  for (const bad of [
    { cert: junk, key: one.key },
    { cert: Buffer.alloc(2 * 1024 * 1024, "x"), key: one.key },
    { cert: one.cert, key: other.key },
    { cert: one.cert, key: junk },
  ])
    expect(credentialState(bad, now).state).toBe("broken");
  expect(credentialState({ cert: one.cert }, now).state).toBe("good");
});
