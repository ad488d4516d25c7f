/**
 * `npm run bench -- webhooks`: what admission costs. Starts a control plane with a mesh of 500 services, calls `/inject` and
 * `/validate` over kept TLS connections as an API server does, at a steady rate, and prints how long the answers took and
 * what processor time each cost.
 *
 *   npm run bench -- webhooks --rate 100 --seconds 20 --connections 4
 */
import { Agent, request } from "node:https";
import { parseArgs } from "node:util";
import { openApi } from "../scale/mesh-api.ts";
import { scenario } from "../scale/scenario.ts";
import { type Address, startStandalone } from "../scale/server.ts";

const { values } = parseArgs({
  args: process.argv.slice(2).filter((word) => word !== "webhooks"),
  options: {
    rate: { type: "string", default: "100" },
    seconds: { type: "string", default: "20" },
    connections: { type: "string", default: "4" },
    services: { type: "string", default: "500" },
  },
});
const [rate, seconds, connections] = [values.rate, values.seconds, values.connections].map(Number) as [
  number,
  number,
  number,
];

const review = (object: object): string =>
  JSON.stringify({
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: {
      uid: "8d9f4f5e-9c1e-4d0a-9a67-3a0f3f0c4f11",
      operation: "CREATE",
      namespace: "ns-0",
      userInfo: { username: "system:serviceaccount:kube-system:replicaset-controller" },
      object,
    },
  });

/** As a Deployment's controller makes them: two containers with probes, volumes and a token. */
const pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    generateName: "web-5d8f6b7c9-",
    namespace: "ns-0",
    labels: { app: "web", version: "v1", "pod-template-hash": "5d8f6b7c9" },
    ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-5d8f6b7c9", uid: "u", controller: true }],
  },
  spec: {
    serviceAccountName: "web",
    containers: ["web", "helper"].map((name, i) => ({
      name,
      image: "registry.example.com/web:1",
      ports: [{ containerPort: 8080 + i, name: "http" }],
      env: Array.from({ length: 20 }, (_, n) => ({ name: `SETTING_${n}`, value: `value-${n}` })),
      livenessProbe: { httpGet: { path: "/live", port: 8080 + i } },
      readinessProbe: { httpGet: { path: "/ready", port: "http" } },
      volumeMounts: [{ name: "data", mountPath: "/data" }],
    })),
    volumes: [{ name: "data", emptyDir: {} }],
  },
};

const virtualService = {
  apiVersion: "networking.istio.io/v1",
  kind: "VirtualService",
  metadata: { name: "web", namespace: "ns-0" },
  spec: {
    hosts: ["web.example.com"],
    http: Array.from({ length: 20 }, (_, i) => ({
      match: [{ uri: { prefix: `/path-${i}` }, headers: { "x-user": { regex: "^[a-z]+-[0-9]+$" } } }],
      route: [{ destination: { host: "web", subset: `v${i}` }, weight: 100 }],
      timeout: "5s",
      retries: { attempts: 3, perTryTimeout: "2s" },
    })),
  },
};

const bodies = [
  ["/inject", review(pod)],
  ["/validate", review(virtualService)],
] as const;

const agent = new Agent({ keepAlive: true, maxSockets: connections, rejectUnauthorized: false });

function call({ host, port }: Address, path: string, body: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  const asked = request({ host, port, path, method: "POST", agent, headers }, (answer) => {
    answer.resume();
    answer.on("end", () => resolve(answer.statusCode ?? 0));
  });
  asked.on("error", reject);
  asked.end(body);
  return promise;
}

/** Calls begin when they are due, whether or not earlier ones have been answered: a slow answer delays no other. */
async function drive(server: Address, path: string, body: string): Promise<readonly number[]> {
  const took: number[] = [];
  const pending: Promise<void>[] = [];
  const started = performance.now();
  for (let i = 0; i < rate * seconds; i++) {
    const due = started + (i * 1000) / rate;
    const wait = due - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    const begun = performance.now();
    const done = call(server, path, body).then((status) => {
      if (status !== 200) throw new Error(`${path} answered ${status}`);
      took.push(performance.now() - begun);
    });
    pending.push(done);
  }
  await Promise.all(pending);
  return took;
}

async function cpuSeconds({ host, port }: Address): Promise<number> {
  const text = await (await fetch(`http://${host}:${port}/metrics`)).text();
  return Number(/^process_cpu_seconds_total ([0-9.e+-]+)/m.exec(text)?.[1] ?? Number.NaN);
}

const server = await startStandalone();
const api = await openApi(server.kubeconfig);
try {
  const objects = scenario({ services: Number(values.services), endpoints: 5, namespaces: 10, routed: 100 });
  await api.apply(objects.filter(({ kind }) => kind === "Namespace"));
  await api.apply(objects.filter(({ kind }) => kind !== "Namespace"));
  if (!server.webhooks || !server.monitoring) throw new Error("the control plane does not say where its ports are");
  process.stdout.write(`${rate} calls/s for ${seconds} s on ${connections} kept TLS connections\n`);
  for (const [path, body] of bodies) {
    // The first ones compile what later ones use.
    for (let i = 0; i < 200; i++) await call(server.webhooks, path, body);
    const before = await cpuSeconds(server.monitoring);
    const sorted = (await drive(server.webhooks, path, body)).toSorted((a, b) => a - b);
    const cpuMs = (((await cpuSeconds(server.monitoring)) - before) * 1000) / sorted.length;
    const at = (share: number): string => `${(sorted[Math.floor(sorted.length * share)] ?? Number.NaN).toFixed(1)} ms`;
    process.stdout.write(
      `${path.padEnd(10)} p50 ${at(0.5)}  p90 ${at(0.9)}  p99 ${at(0.99)}  longest ${at(0.9999)}  processor ${cpuMs.toFixed(2)} ms a call\n`,
    );
  }
} finally {
  agent.destroy();
  api.close();
  await server.stop();
}
