/** For tests: accounts of a real API that ask a control plane over TLS, and what agents of theirs tell it of requests. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type EdgeSchema, FromAgentSchema, TrafficService } from "../../gen/fairlead/traffic_pb.js";
import { IstioCertificateRequestSchema, IstioCertificateService } from "../../gen/istio/auth_pb.js";
import { createKubeClient, kubeKinds, loadKubeconfig, requestToken } from "../../kube/index.ts";
import { readRecord } from "../../lib/index.ts";
import { createCsr, generateKey } from "../../pki/index.ts";
import { createRpcClient, protoMethod, type RpcClient } from "../../rpc/index.ts";
import type { ControlledApi } from "../controllers/testing.ts";
import type { Discovery } from "../discovery.ts";

export interface TestAgents {
  /** The root that the mesh believes. */
  readonly ca: string;
  token(account: string, namespace: string, audiences?: readonly string[]): Promise<string>;
  client(plane: Pick<Discovery, "addresses">, account: string, namespace: string): Promise<RpcClient>;
  /** Resolves when the control plane has issued one. */
  certify(plane: Pick<Discovery, "addresses">, account: string, namespace: string): Promise<void>;
  /** Resolves when the control plane has counted it. */
  report(
    plane: Pick<Discovery, "addresses">,
    account: string,
    namespace: string,
    edges: readonly MessageInitShape<typeof EdgeSchema>[],
  ): Promise<void>;
  close(): void;
}

/** Of a mesh with a CA of its own, which has begun. */
export async function startAgents(world: ControlledApi): Promise<TestAgents> {
  const secret = await world.admin.raw("GET", "/api/v1/namespaces/istio-system/secrets/istio-ca-secret");
  const { "ca-cert.pem": root } = readRecord(readRecord(secret).data);
  const ca = Buffer.from(String(root), "base64").toString();
  const kube = createKubeClient(await loadKubeconfig({ paths: [world.api.kubeconfig], env: {} }));
  const clients: RpcClient[] = [];

  async function token(account: string, namespace: string, audiences: readonly string[] = ["istio-ca"]) {
    const metadata = { name: account, namespace };
    await kube
      .create(kubeKinds.serviceAccounts, { apiVersion: "v1", kind: "ServiceAccount", metadata })
      .catch(() => {});
    return (await requestToken(kube, { namespace, serviceAccount: account, audiences })).token;
  }

  async function client(plane: Pick<Discovery, "addresses">, account: string, namespace: string): Promise<RpcClient> {
    const own = await token(account, namespace);
    const made = createRpcClient({
      target: plane.addresses.secureGrpc,
      tls: () => ({ ca }),
      metadata: async () => ({ authorization: `Bearer ${own}` }),
    });
    clients.push(made);
    return made;
  }

  return {
    ca,
    token,
    client,
    async certify(plane, account, namespace) {
      const csr = createCsr({ key: await generateKey() });
      const method = protoMethod(IstioCertificateService.method.createCertificate);
      await (await client(plane, account, namespace)).unary(method, create(IstioCertificateRequestSchema, { csr }));
    },
    async report(plane, account, namespace, edges) {
      const stream = await (await client(plane, account, namespace)).stream(protoMethod(TrafficService.method.report));
      const [hello, report] = [
        { address: "10.1.1.1", run: "r" },
        { sequence: 1, edges: [...edges] },
      ];
      await stream.send(create(FromAgentSchema, { message: { case: "hello", value: hello } }));
      await stream.send(create(FromAgentSchema, { message: { case: "report", value: report } }));
      const { value } = await stream.messages.next();
      if (value?.message.case !== "acknowledged") throw new Error("the report was not taken");
    },
    close() {
      for (const one of clients) one.close();
      kube.close();
    },
  };
}
