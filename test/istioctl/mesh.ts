/** The small mesh of `objects.yaml` on a real API, with a control plane that kubectl and istioctl find there, and its proxies. */
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { FairleadError, readList, readRecord, wait } from "../../src/lib/index.ts";
import { type PodApi, startPodApi } from "../standalone/kubectl.ts";
import { serveAdmin } from "./admin.ts";
import { type Follower, followAll, type ProxyPod } from "./proxy.ts";

/** Where a control plane is reached. */
export interface PlanePorts {
  readonly grpc: number;
  readonly secureGrpc: number;
  readonly monitoring: number;
  readonly http: number;
  readonly https: number;
  readonly controlz: number;
}

export interface Plane {
  readonly ports: PlanePorts;
  close(): Promise<void>;
}

export interface Mesh {
  readonly pods: PodApi;
  readonly plane: Plane;
  close(): Promise<void>;
}

interface PodText extends ProxyPod {
  readonly annotations?: Readonly<Record<string, string>>;
}

const sidecar = ["app", "istio-proxy"];
const status = {
  "sidecar.istio.io/status":
    '{"initContainers":["istio-init"],"containers":["istio-proxy"],"volumes":[],"imagePullSecrets":[],"revision":"default"}',
};

/** In the order of their names, which is that of tables. */
const workloads: readonly PodText[] = [
  {
    ...{ name: "istio-ingressgateway-1", namespace: "istio-system", address: "10.0.0.4", account: "gateway" },
    ...{ labels: { istio: "ingressgateway", "istio.io/rev": "default" }, containers: ["istio-proxy"] },
  },
  {
    ...{ name: "reviews-v1-1", namespace: "shop", address: "10.0.0.2", account: "reviews", containers: sidecar },
    ...{ labels: { app: "reviews", version: "v1" }, annotations: status },
  },
  {
    ...{ name: "reviews-v2-1", namespace: "shop", address: "10.0.0.3", account: "reviews", containers: sidecar },
    ...{ labels: { app: "reviews", version: "v2" }, annotations: status },
  },
  {
    ...{ name: "web-1", namespace: "shop", address: "10.0.0.1", account: "web", containers: sidecar },
    ...{ labels: { app: "web", version: "v1" }, annotations: status },
  },
  {
    ...{ name: "db-1", namespace: "store", address: "10.0.0.5", account: "db", containers: ["app"] },
    labels: { app: "db" },
  },
];

const istiod: PodText = {
  ...{ name: "istiod-1", namespace: "istio-system", address: "127.0.0.1", account: "istiod" },
  ...{ labels: { app: "istiod", istio: "pilot", "istio.io/rev": "default" }, containers: ["discovery"] },
};

const ports: ReadonlyMap<number, keyof PlanePorts> = new Map([
  [8080, "http"],
  [9876, "controlz"],
  [15010, "grpc"],
  [15012, "secureGrpc"],
  [15014, "monitoring"],
  [15017, "https"],
]);

/** Resolves when all proxies have acknowledged what they were sent. */
export async function startMesh(startPlane: (pods: PodApi) => Promise<Plane>): Promise<Mesh> {
  const pods = await startPodApi();
  const open: (() => Promise<void> | void)[] = [() => pods.close()];
  const close = async (): Promise<void> => {
    for (const end of open.splice(0).reverse()) await end();
  };
  try {
    await seed(pods);
    const plane = await startPlane(pods);
    open.push(() => plane.close());
    await pods.serve(istiod.namespace, istiod.name, {
      connect: (port) => dial(plane.ports[ports.get(port) ?? "http"], ports.has(port)),
    });
    const followers: Follower[] = [];
    open.push(() => {
      for (const one of followers) one.close();
    });
    for (const pod of workloads.filter(({ containers }) => containers.includes("istio-proxy"))) {
      followers.push(await followAll(pods, plane.ports.secureGrpc, pod));
      const admin = await serveAdmin(plane.ports.monitoring, `${pod.name}.${pod.namespace}`);
      open.push(() => admin.close());
      await pods.serve(pod.namespace, pod.name, { connect: (port) => dial(admin.port, port === 15000) });
    }
    while (!(await isAcknowledged(plane.ports.monitoring))) await wait(50);
    return { pods, plane, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** What was written has not been read yet. */
async function isAcknowledged(monitoring: number): Promise<boolean> {
  const proxies = await (await fetch(`http://127.0.0.1:${monitoring}/debug/syncz`)).json();
  const types = readList(proxies).flatMap((proxy) => Object.values(readRecord(readRecord(proxy)["resources"])));
  return types.length >= 16 && types.map(readRecord).every(({ sent, acked }) => sent !== undefined && sent === acked);
}

/** For commands that look which namespaces are injected; nobody answers it. */
const webhook = JSON.stringify({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "MutatingWebhookConfiguration",
  metadata: { name: "istio-sidecar-injector", labels: { app: "sidecar-injector", "istio.io/rev": "default" } },
  webhooks: [
    {
      ...{ name: "namespace.sidecar-injector.istio.io", sideEffects: "None", failurePolicy: "Ignore" },
      ...{ admissionReviewVersions: ["v1"], clientConfig: { url: "https://127.0.0.1:1/inject" } },
      rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] }],
      namespaceSelector: { matchLabels: { "istio-injection": "enabled" } },
    },
  ],
});

function dial(port: number, isServed: boolean): Promise<ReturnType<typeof connect>> {
  return new Promise((resolve, reject) => {
    if (!isServed) return reject(new FairleadError("unavailable", "failed to connect: connection refused"));
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true }, () => resolve(socket));
    socket.once("error", reject);
  });
}

async function seed({ api }: PodApi): Promise<void> {
  const text = readFileSync(join(import.meta.dirname, "objects.yaml"), "utf8");
  const made = await api.kubectl("apply --server-side -f -", text);
  if (made.code !== 0) throw new Error(made.err);
  // The one that istioctl asks as.
  await api.call("POST", "/api/v1/namespaces/istio-system/serviceaccounts", { metadata: { name: "default" } });
  for (const pod of [...workloads, istiod]) await createPod(api, pod);
  const hooks = await api.kubectl("apply --server-side -f -", webhook);
  if (hooks.code !== 0) throw new Error(hooks.err);
  for (const [namespace, service, port] of [
    ["shop", "web", 8080],
    ["shop", "reviews", 9080],
    ["store", "db", 5432],
    ["istio-system", "istio-ingressgateway", 8080],
  ] as const)
    await createSlice(api, namespace, service, port);
}

async function createPod(api: PodApi["api"], pod: PodText): Promise<void> {
  const { name, namespace, labels, annotations = {}, containers, account, address } = pod;
  await api.call("POST", `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: account } });
  const path = `/api/v1/namespaces/${namespace}/pods`;
  const spec = {
    nodeName: "n1",
    serviceAccountName: account,
    containers: containers.map((one) => ({ name: one, image: `example.com/${one}:1.32` })),
  };
  const { code } = await api.call("POST", path, { metadata: { name, namespace, labels, annotations }, spec });
  if (code !== 201) throw new Error(`${name}: ${code}`);
  const ready = containers.map((one) => ({
    name: one,
    ready: true,
    started: true,
    restartCount: 0,
    image: "",
    imageID: "",
  }));
  const told = {
    ...{ phase: "Running", podIP: address, podIPs: [{ ip: address }], hostIP: "10.0.0.100" },
    conditions: [{ type: "Ready", status: "True" }],
    containerStatuses: ready,
  };
  await api.call("PATCH", `${path}/${name}/status`, { status: told }, "application/merge-patch+json");
}

async function createSlice(api: PodApi["api"], namespace: string, service: string, port: number): Promise<void> {
  const labels = { "kubernetes.io/service-name": service };
  const behind = workloads.filter(({ name }) => name.startsWith(service));
  const endpoints = behind.map(({ name, address }) => ({
    addresses: [address],
    conditions: { ready: true, serving: true, terminating: false },
    ...{ nodeName: "n1", zone: "z1", targetRef: { kind: "Pod", name, namespace } },
  }));
  const portName = service === "db" ? "tcp" : service === "istio-ingressgateway" ? "http2" : "http";
  const slice = {
    metadata: { name: `${service}-1`, labels },
    ...{ addressType: "IPv4", endpoints, ports: [{ name: portName, port, protocol: "TCP" }] },
  };
  const { code } = await api.call("POST", `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`, slice);
  if (code !== 201) throw new Error(`${service}: ${code}`);
}
