/** R45: what a proxy that was made for a Gateway of the Gateway API serves, and with whose secrets, is for its own namespace and account. */
import { beforeAll, describe, expect, test } from "vitest";
import type { KubeObject } from "../../src/model/index.ts";
import { formatCertificate, formatPrivateKey, generateKey, issueCertificate } from "../../src/pki/index.ts";
import { renderProxy } from "../render/offline.ts";

type Fields = Readonly<Record<string, unknown>>;
const object = (apiVersion: string, kind: string, key: string, rest: Fields, meta: Fields = {}): KubeObject => {
  const [namespace = "", name = ""] = key.split("/");
  return { apiVersion, kind, metadata: { name, namespace, generation: 1, ...meta }, ...rest };
};
const labels = { "gateway.networking.k8s.io/gateway-name": "edge" };
const gatewayApi = "gateway.networking.k8s.io/v1";

let secret: KubeObject;
beforeAll(async () => {
  const { privateKey: key, publicKey } = await generateKey();
  const terms = {
    profile: "server",
    subject: { commonName: "a" },
    publicKey,
    now: new Date(),
    ttlMs: 3_600_000,
  } as const;
  const cert = formatCertificate(issueCertificate({ ...terms, signer: { certificate: undefined, key } }));
  const encode = (pem: string): string => Buffer.from(pem).toString("base64");
  const data = { "tls.crt": encode(cert), "tls.key": encode(formatPrivateKey(key)) };
  secret = object("v1", "Secret", "infra/cert", { type: "kubernetes.io/tls", data });
});

/** The Gateway `infra/edge` with a proxy of this account, beside other objects. */
const rendered = (serviceAccountName: string, ...others: readonly KubeObject[]) => {
  const tls = { certificateRefs: [{ name: "cert" }] };
  const listeners = [{ name: "https", port: 443, protocol: "HTTPS", tls }];
  const ports = [443, 9000].map((port) => ({ name: `p-${port}`, port, targetPort: port, protocol: "TCP" }));
  const containers = [{ name: "istio-proxy", args: ["proxy", "router"] }];
  const status = { podIP: "10.1.0.1", phase: "Running" };
  return renderProxy({
    objects: [
      object(gatewayApi, "Gateway", "infra/edge", { spec: { gatewayClassName: "istio", listeners } }),
      object("v1", "Service", "infra/edge-istio", { spec: { clusterIP: "10.0.0.8", selector: labels, ports } }),
      object("v1", "Pod", "infra/edge", { spec: { serviceAccountName, containers }, status }, { labels }),
      secret,
      ...others,
    ],
  });
};

describe("R45: the Gateway's certificate", () => {
  const name = "kubernetes-gateway://infra/cert";
  test("is for the account that the Gateway runs as", async () => {
    expect([...(await rendered("edge-istio")).secrets.keys()]).toContain(name);
  });
  test("is not for another account of the same namespace with the same labels", async () => {
    expect([...(await rendered("thief")).secrets.keys()]).not.toContain(name);
  });
});

describe("R45: a further listener, by an Istio Gateway that selects the same Pods", () => {
  const added = (namespace: string, annotations: Fields = {}): KubeObject => {
    const server = { port: { number: 9000, name: "tcp", protocol: "HTTP" }, hosts: ["*"] };
    const spec = { selector: labels, servers: [server] };
    return object("networking.istio.io/v1", "Gateway", `${namespace}/added`, { spec }, { annotations });
  };
  const listeners = async (gateway: KubeObject) => [...(await rendered("edge-istio", gateway)).listeners.keys()];

  test("is served where it is of the Gateway's own namespace", async () => {
    expect(await listeners(added("infra"))).toContain("0.0.0.0_9000");
  });
  test.each<[string, Fields]>([
    ["of another namespace", {}],
    [
      "of another namespace that says to be of the Gateway API",
      {
        "internal.istio.io/gateway-semantics": "gateway",
        "internal.istio.io/service-account-name": "edge-istio",
        "internal.istio.io/parent-namespace": "infra",
        "internal.istio.io/gateway-service": "edge-istio.infra.svc.cluster.local",
      },
    ],
  ])("is not %s", async (_, annotations) => {
    expect(await listeners(added("evil", annotations))).not.toContain("0.0.0.0_9000");
  });
});
