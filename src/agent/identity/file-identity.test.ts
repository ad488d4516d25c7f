import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLogger } from "../../lib/index.ts";
import { formatCertificate, formatPrivateKey, generateKey, issueCertificate } from "../../pki/index.ts";
import { createFileIdentity } from "./file-identity.ts";

let dir = "";
const stop = new AbortController();
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "fl-files-"));
});
afterEach(() => {
  stop.abort();
  rmSync(dir, { recursive: true });
});

async function pair(): Promise<{ readonly chain: string; readonly key: string }> {
  const { publicKey, privateKey: key } = await generateKey();
  const terms = { profile: "server", subject: { commonName: "a" }, publicKey, now: new Date(), ttlMs: 60_000 } as const;
  const certificate = issueCertificate({ ...terms, signer: { certificate: undefined, key } });
  return { chain: formatCertificate(certificate), key: formatPrivateKey(key) };
}
const put = (name: string, text: string): void => writeFileSync(join(dir, name), text);

test("all three files are the identity, also when they are replaced one by one", async () => {
  const [one, two] = [await pair(), await pair()];
  put("cert-chain.pem", one.chain);
  put("key.pem", one.key);
  expect(createFileIdentity(dir, silentLogger)).toBeUndefined();
  put("root-cert.pem", one.chain);
  const identity = createFileIdentity(dir, silentLogger);
  const news = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
  let heard = 0;
  identity?.onChange(({ chain, key }) => news[heard++]?.resolve(chain + key));
  const running = identity?.run(stop.signal);
  expect(await news[0]?.promise).toBe(one.chain + one.key);
  put("cert-chain.pem", two.chain);
  put("key.pem", two.key);
  expect(await news[1]?.promise).toBe(two.chain + two.key);
  expect(identity?.current()).toMatchObject({ ...two, roots: one.chain });
  stop.abort();
  await running;
});
