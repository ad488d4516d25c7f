import { afterEach, expect, test } from "vitest";
import { createCertificateAuthority, createSelfSignedBundle } from "../../ca/index.ts";
import { IstioCertificateService } from "../../gen/istio/auth_pb.js";
import { silentLogger } from "../../lib/index.ts";
import { createCsr, formatPrivateKey, generateKey } from "../../pki/index.ts";
import { createRpcServer, protoMethod, RpcError, type ServerTls, status, unary } from "../../rpc/index.ts";
import { createCertificateClient } from "./certificate-client.ts";

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});
const now = (): Date => new Date();
const authority = async () =>
  createCertificateAuthority({ bundle: await createSelfSignedBundle({ organization: "o", now: now() }), now });

/** Somebody at the control plane's address; what tokens they were shown. */
async function pretend(tls: ServerTls): Promise<{ readonly port: number; readonly tokens: string[] }> {
  const tokens: string[] = [];
  const route = unary(protoMethod(IstioCertificateService.method.createCertificate), async (_, call) => {
    tokens.push(call.metadata("authorization") ?? "");
    throw new RpcError(status.unavailable, "no");
  });
  const server = createRpcServer({ routes: [route], tls, log: silentLogger });
  open.push(server);
  return { port: (await server.listen({ host: "127.0.0.1", port: 0 })).port, tokens };
}

test("P01: a Pod that poses as the control plane is shown no token, whatever certificate it has", async () => {
  const [mesh, other] = [await authority(), await authority()];
  const key = await generateKey();
  const workload = { trustDomain: "cluster.local", namespace: "ns", serviceAccount: "evil" };
  const own = mesh.sign(createCsr({ key }), workload, 0).chain.join("");
  const names = { dns: ["istiod.istio-system.svc"], addresses: ["127.0.0.1"] };
  const shown: readonly [ServerTls, boolean][] = [
    [await mesh.issueServing(names), true],
    [await other.issueServing(names), false],
    [{ cert: own, key: formatPrivateKey(key.privateKey) }, false],
    [await mesh.issueServing({ dns: ["evil.ns.svc"], addresses: ["10.0.0.1"] }), false],
  ];
  for (const [tls, isTrusted] of shown)
    for (const serverName of ["istiod.istio-system.svc", undefined]) {
      const { port, tokens } = await pretend(tls);
      const fetch = createCertificateClient({
        target: { host: "127.0.0.1", port },
        tls: () => ({ ca: mesh.roots(), ...(serverName === undefined ? {} : { serverName }) }),
        metadata: async () => ({ authorization: "Bearer a.b.c" }),
        algorithm: "ecdsa-p256",
        ttlMs: 0,
        altNames: [],
      });
      await expect(fetch(AbortSignal.timeout(10_000))).rejects.toThrow();
      expect(tokens).toEqual(isTrusted ? ["Bearer a.b.c"] : []);
    }
});
