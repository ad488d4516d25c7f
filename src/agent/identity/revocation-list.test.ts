import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { lacks } from "../../../test/require.ts";
import { createLogger } from "../../lib/index.ts";
import { createCsr, formatPrivateKey, generateKey, parseCertificate } from "../../pki/index.ts";
import { revoke, testCa } from "../../pki/testing.ts";
import { type AgentHarness, createAgentHarness, eventually, tlsListener } from "../testing.ts";
import { createRevocationList } from "./revocation-list.ts";

test("a list that cannot be read leaves the last one in force; one that is gone revokes nothing", async () => {
  const dir = mkdtempSync(join(tmpdir(), "fl-crl-"));
  const path = join(dir, "ca-crl.pem");
  const lines: string[] = [];
  const log = createLogger({ write: (line) => lines.push(line), now: () => new Date() });
  const list = createRevocationList(path, log);
  expect(list.current()).toBe("");
  const crl = revoke(await testCa("ca"), []);
  writeFileSync(path, crl);
  expect(list.current()).toBe(crl.trim());
  for (const broken of ["junk", "-----BEGIN X509 CRL-----\nAAAA\n", "x".repeat(2 * 1024 * 1024)]) {
    writeFileSync(path, broken);
    expect(list.current()).toBe(crl.trim());
  }
  expect(lines).toHaveLength(3);
  rmSync(path);
  expect(list.current()).toBe("");
  rmSync(dir, { recursive: true });
});

describe.skipIf(lacks("envoy"))("with a real Envoy", () => {
  let harness: AgentHarness;
  beforeEach(async () => {
    harness = await createAgentHarness();
    harness.send(tlsListener(harness.ports.listener));
  });
  afterEach(() => harness.close());

  async function clientCertificate() {
    const key = await generateKey();
    const identity = { trustDomain: "cluster.local", namespace: "ns", serviceAccount: "client" };
    const { chain } = harness.authority.sign(createCsr({ key }), identity, 0);
    return { cert: chain.join(""), key: formatPrivateKey(key.privateKey) };
  }
  /** With TLS 1.2 the server's word on the client's certificate comes before the handshake ends. */
  function isTaken(certificate: { readonly cert: string; readonly key: string }): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const socket: TLSSocket = connect({
      ...{ host: "127.0.0.1", port: harness.ports.listener, maxVersion: "TLSv1.2" },
      ...{ ...certificate, ca: harness.authority.roots(), checkServerIdentity: () => undefined },
    });
    socket.once("secureConnect", () => resolve(true));
    socket.once("error", () => resolve(false));
    return promise.finally(() => socket.destroy());
  }

  test("what the mounted list names is refused from then on, and nothing else", async () => {
    const file = join(harness.workDir, "var/run/secrets/istio/crl/ca-crl.pem");
    mkdirSync(dirname(file), { recursive: true });
    harness.start();
    const [revoked, other] = [await clientCertificate(), await clientCertificate()];
    await eventually(() => isTaken(revoked), Boolean);
    const { certificate, key } = harness.authority.bundle();
    writeFileSync(`${file}.new`, revoke({ certificate, key }, [parseCertificate(revoked.cert)]));
    renameSync(`${file}.new`, file);
    await eventually(
      () => isTaken(revoked),
      (taken) => !taken,
    );
    expect(await isTaken(other)).toBe(true);
    expect(await isTaken(revoked)).toBe(false);
  }, 300_000);
});
