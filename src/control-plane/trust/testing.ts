/** A control plane on a real API, and proxies that come to it for certificates and roots, as agents do. */
import { once } from "node:events";
import { create, fromBinary } from "@bufbuild/protobuf";
import { DeltaDiscoveryRequestSchema } from "../../gen/envoy/service/discovery/v3/discovery_pb.js";
import { IstioCertificateRequestSchema, IstioCertificateService } from "../../gen/istio/auth_pb.js";
import { ProxyConfigSchema } from "../../gen/istio/proxy_config_pb.js";
import { kubeKinds, requestToken } from "../../kube/index.ts";
import { types } from "../../model/index.ts";
import { createCsr, formatPrivateKey, generateKey, type KeyPair } from "../../pki/index.ts";
import { createRpcClient, protoMethod } from "../../rpc/index.ts";
import { deltaMethod } from "../../xds/index.ts";
import type { ControlledApi } from "../controllers/testing.ts";
import type { Discovery } from "../discovery.ts";
import type { DiscoveryOptions } from "../discovery-options.ts";
import { startPlane as startPlaneOn } from "../testing.ts";

/** Alone, and in a hurry. */
export const startPlane = (world: ControlledApi, more: Partial<DiscoveryOptions> = {}): Promise<Discovery> =>
  startPlaneOn(world, {
    leaderElection: false,
    rotationPace: { stepMs: 50, reconnectMs: 0, fileLagMs: 0 },
    ...more,
  });

/** Comes for a certificate with nothing but one that it has. */
export async function renewBy(
  plane: Discovery,
  shown: { readonly chain: string; readonly key: KeyPair; readonly roots: string },
): Promise<readonly string[]> {
  const { chain: cert, key, roots: ca } = shown;
  const client = createRpcClient({
    target: plane.addresses.secureGrpc,
    tls: () => ({ ca, cert, key: formatPrivateKey(key.privateKey) }),
  });
  try {
    const request = create(IstioCertificateRequestSchema, { csr: createCsr({ key }), validityDuration: 3600n });
    return (await client.unary(certificateMethod, request)).certChain;
  } finally {
    client.close();
  }
}

const certificateMethod = protoMethod(IstioCertificateService.method.createCertificate);

export interface TestProxy {
  /** Comes for a certificate: leaf first, all roots last. */
  fetchCertificate(): Promise<readonly string[]>;
  /** The next roots that the control plane tells, acknowledged. */
  nextRoots(): Promise<readonly string[]>;
  close(): void;
}

/** A proxy in a Pod of its own; `listens` says whether it is told of roots, as Istio's agent is only where asked to. */
export async function connectProxy(
  world: ControlledApi,
  plane: Discovery,
  name: string,
  options: {
    readonly listens: boolean;
    readonly roots: () => string;
    /** What it calls itself; the name of its Pod unless it lies. */
    readonly callsItself?: string;
  },
): Promise<TestProxy> {
  const metadata = { name, namespace: "default" };
  await world.admin
    .create(kubeKinds.serviceAccounts, { apiVersion: "v1", kind: "ServiceAccount", metadata })
    .catch(() => {});
  const spec = { serviceAccountName: name, containers: [{ name: "c", image: "i" }] };
  const pod =
    (await world.admin.find(kubeKinds.pods, metadata)) ??
    (await world.admin.create(kubeKinds.pods, { apiVersion: "v1", kind: "Pod", metadata, spec }));
  const { token } = await requestToken(world.admin, {
    namespace: "default",
    serviceAccount: name,
    audiences: ["istio-ca"],
    boundPod: { name, uid: pod.metadata.uid ?? "" },
  });
  const client = createRpcClient({
    target: plane.addresses.secureGrpc,
    tls: () => ({ ca: options.roots() }),
    metadata: async () => ({ authorization: `Bearer ${token}` }),
  });
  const ended = new AbortController();
  const stream = await client.stream(deltaMethod, { signal: ended.signal });
  const node = {
    id: `sidecar~10.0.0.1~${options.callsItself ?? name}.default~default.svc.cluster.local`,
    metadata: { NAMESPACE: "default" },
  };
  await stream.send(create(DeltaDiscoveryRequestSchema, { node, typeUrl: types.listener }));
  if (options.listens) await stream.send(create(DeltaDiscoveryRequestSchema, { typeUrl: types.proxyConfig }));
  const told: (readonly string[])[] = [];
  const news = new EventTarget();
  const read = async (): Promise<void> => {
    for await (const { typeUrl, nonce, resources } of stream.messages) {
      await stream.send(create(DeltaDiscoveryRequestSchema, { typeUrl, responseNonce: nonce }));
      if (typeUrl !== types.proxyConfig) continue;
      const [bundle] = resources;
      told.push(fromBinary(ProxyConfigSchema, bundle?.resource?.value ?? new Uint8Array()).caCertificatesPem);
      news.dispatchEvent(new Event("roots"));
    }
  };
  read().catch(() => {});
  const key = await generateKey();
  return {
    async fetchCertificate() {
      const request = create(IstioCertificateRequestSchema, { csr: createCsr({ key }), validityDuration: 3600n });
      return (await client.unary(certificateMethod, request)).certChain;
    },
    async nextRoots() {
      if (told.length === 0) await once(news, "roots");
      return told.shift() ?? [];
    },
    close() {
      ended.abort();
      client.close();
    },
  };
}
