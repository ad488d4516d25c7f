/** A CA that users brought, in a folder as the Secret `cacerts` is mounted: the mesh's root is theirs, and no other is made. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { startApi } from "../../src/apiserver/testing.ts";
import { runProgram } from "../../src/cli/program.ts";
import { createKubeClient, kubeKinds, loadKubeconfig } from "../../src/kube/index.ts";
import { readRecord } from "../../src/lib/index.ts";
import { formatCertificate, formatPrivateKey, generateKey, issueCertificate } from "../../src/pki/index.ts";

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of open.splice(0).reverse()) await end();
});

async function issueCas() {
  const terms = { profile: "ca", now: new Date(), ttlMs: 3_600_000 } as const;
  const [above, below] = [await generateKey(), await generateKey()];
  const root = issueCertificate({
    ...terms,
    subject: { commonName: "their root" },
    publicKey: above.publicKey,
    signer: { certificate: undefined, key: above.privateKey },
  });
  const signer = issueCertificate({
    ...terms,
    subject: { commonName: "their signer" },
    publicKey: below.publicKey,
    signer: { certificate: root, key: above.privateKey },
  });
  return { root: formatCertificate(root), signer: formatCertificate(signer), key: formatPrivateKey(below.privateKey) };
}

test.each([
  { form: "Istio's names", names: { key: "ca-key.pem", signer: "ca-cert.pem", root: "root-cert.pem" } },
  { form: "names of a TLS Secret", names: { key: "tls.key", signer: "tls.crt", root: "ca.crt" } },
])("with $form", { timeout: 300_000 }, async ({ names }) => {
  const api = await startApi();
  open.push(() => api.close());
  const ca = await issueCas();
  const dir = join(api.dir, "cacerts");
  mkdirSync(dir);
  for (const part of ["key", "signer", "root"] as const)
    writeFileSync(join(dir, names[part]), ca[part], { mode: 0o600 });
  const stop = new AbortController();
  const ports = ["--grpcAddr", "--secureGRPCAddr", "--monitoringAddr", "--httpsAddr", "--httpAddr"];
  const run = runProgram(
    ["discovery", "--kubeconfig", api.kubeconfig, ...ports.flatMap((flag) => [flag, "127.0.0.1:0"])],
    { env: { ROOT_CA_DIR: dir }, cwd: api.dir, out: () => {}, err: () => {}, tty: false, signal: stop.signal },
  );
  open.push(() => {
    stop.abort();
    return run;
  });
  const client = createKubeClient(await loadKubeconfig({ paths: [api.kubeconfig], env: {} }));
  open.push(() => client.close());
  const roots = async (): Promise<unknown> => {
    const found = await client.find(kubeKinds.configMaps, { name: "istio-ca-root-cert", namespace: "default" });
    return readRecord(found?.data)["root-cert.pem"];
  };
  await expect.poll(roots, { timeout: 300_000 }).toBe(ca.root);
  const secret = { name: "istio-ca-secret", namespace: "istio-system" };
  expect(await client.find(kubeKinds.secrets, secret)).toBeUndefined();
});
