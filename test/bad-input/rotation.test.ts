/** W14: certificates of the webhook port that change under load, and configurations that somebody else writes, too. */
import { Agent, request } from "node:https";
import { expect, test } from "vitest";
import { kubeKinds } from "../../src/kube/index.ts";
import { readList, readRecord, readText, silentLogger } from "../../src/lib/index.ts";
import { createHttpServer } from "../../src/ops/index.ts";
import { formatCertificate, formatPrivateKey, generateKey, issueCertificate } from "../../src/pki/index.ts";
import { openMesh } from "../cluster/mesh.ts";

test("W14: a certificate that is replaced twenty times costs none of 400 calls, on kept and on new connections", async () => {
  const root = await generateKey();
  const common = { now: new Date(), ttlMs: 3_600_000 };
  const authority = issueCertificate({
    ...common,
    profile: "ca",
    subject: { commonName: "root" },
    publicKey: root.publicKey,
    signer: { certificate: undefined, key: root.privateKey },
  });
  const issue = async (): Promise<{ cert: string; key: string }> => {
    const { publicKey, privateKey } = await generateKey();
    const altNames = [{ type: "ip" as const, value: "127.0.0.1" }];
    const signer = { certificate: authority, key: root.privateKey };
    const certificate = issueCertificate({ ...common, profile: "server", altNames, publicKey, signer });
    return { cert: formatCertificate(certificate), key: formatPrivateKey(privateKey) };
  };
  const server = await createHttpServer({
    address: { host: "127.0.0.1", port: 0 },
    log: silentLogger,
    tls: await issue(),
    routes: new Map([["/", async (asked) => ({ status: 200, body: await asked.body() })]]),
  });
  const ca = formatCertificate(authority);
  const kept = new Agent({ keepAlive: true, ca });
  const serials = new Set<string>();
  const call = (agent: Agent): Promise<number> =>
    new Promise((resolve, reject) => {
      const asked = request({ ...server.address, path: "/", method: "POST", agent, ca }, (answer) => {
        const { socket } = answer;
        if ("getPeerCertificate" in socket && typeof socket.getPeerCertificate === "function")
          serials.add(String(socket.getPeerCertificate().serialNumber));
        answer.resume();
        answer.on("end", () => resolve(answer.statusCode ?? 0));
      });
      asked.on("error", reject);
      asked.end("{}");
    });
  const answers: Promise<number>[] = [];
  for (let round = 0; round < 20; round++) {
    for (let i = 0; i < 20; i++) answers.push(call(i % 2 === 0 ? kept : new Agent({ ca })));
    server.setTls(await issue());
    await Promise.all(answers.slice(-20));
  }
  expect(await Promise.all(answers)).toEqual(Array.from({ length: 400 }, () => 200));
  expect(serials.size).toBeGreaterThan(10);
  kept.destroy();
  await server.close();
});

test("W14: who writes a configuration at the same time loses nothing, and the root is there in the end", {
  timeout: 300_000,
}, async () => {
  const { cluster, plane } = await openMesh();
  await plane.answering();
  const kind = "MutatingWebhookConfiguration";
  const bundles = async (): Promise<readonly string[]> =>
    readList((await plane.webhooks(kind))?.webhooks).map((one) =>
      readText(readRecord(readRecord(one).clientConfig).caBundle),
    );
  const right = await bundles();
  const found = await plane.webhooks(kind);
  const ref = { name: found?.metadata.name ?? "" };
  for (let i = 0; i < 30; i++) {
    await cluster.admin
      .patch(kubeKinds.mutatingWebhooks, ref, "json", [
        { op: "add", path: "/metadata/annotations", value: { count: String(i) } },
        { op: "remove", path: "/webhooks/0/clientConfig/caBundle" },
      ])
      .catch(() =>
        cluster.admin.patch(kubeKinds.mutatingWebhooks, ref, "merge", {
          metadata: { annotations: { count: String(i) } },
        }),
      );
  }
  await expect.poll(bundles, { timeout: 300_000 }).toEqual(right);
  expect((await plane.webhooks(kind))?.metadata.annotations?.count).toBe("29");
  await cluster.close();
});
