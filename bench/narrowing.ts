/**
 * `node --expose-gc bench/narrowing.ts [count]`: Pods as a cluster has them (injected, with their status and the notes of who
 * owns which field) and slices of ten endpoints in; the heap that one takes as it comes, and as it is kept, out.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { narrowObject } from "../src/kube/index.ts";
import { parseYaml, readRecord } from "../src/lib/index.ts";
import type { KubeObject } from "../src/model/index.ts";

const count = Number(process.argv[2] ?? 5_000);
const endpoints = 10;

const written = `
apiVersion: v1
kind: Pod
metadata: { name: web-7c9d8f6b5-abcde, namespace: shop, uid: 0b5e3c1a-0000-4000-8000-000000000000, resourceVersion: "1",
  generateName: web-7c9d8f6b5-, labels: { app: web, version: v1, pod-template-hash: 7c9d8f6b5 } }
spec:
  serviceAccountName: web
  nodeName: node-1
  containers: [{ name: web, image: web, ports: [{ containerPort: 8080 }], env: [{ name: A, value: b }] }]
`;
const { stdout } = spawnSync(join(import.meta.dirname, "../fairlead"), ["kube-inject", "-f", "-"], { input: written });
const injected = readRecord(parseYaml(String(stdout))[0]);
const condition = { status: "True", lastProbeTime: null, lastTransitionTime: "2026-01-01T00:00:00Z" };
const status = {
  ...{
    phase: "Running",
    podIP: "10.0.0.1",
    podIPs: [{ ip: "10.0.0.1" }],
    hostIP: "192.168.0.1",
    qosClass: "Burstable",
  },
  conditions: ["Initialized", "Ready", "ContainersReady", "PodScheduled"].map((type) => ({ type, ...condition })),
  containerStatuses: ["web", "istio-proxy"].map((name) => ({
    ...{ name, ready: true, restartCount: 0, image: name, imageID: `sha256:${"0".repeat(64)}` },
    state: { running: { startedAt: "2026-01-01T00:00:00Z" } },
  })),
};
// The API notes an entry for each field that was written.
const owned = (value: unknown): unknown =>
  Object.fromEntries(Object.entries(readRecord(value)).map(([name, inner]) => [`f:${name}`, owned(inner)]));
const managedFields = [{ manager: "controller", operation: "Update", fieldsV1: owned(injected.spec) }];
const pod = { ...injected, metadata: { ...readRecord(injected.metadata), managedFields }, status };
const slice = {
  apiVersion: "discovery.k8s.io/v1",
  kind: "EndpointSlice",
  metadata: { name: "web-abcde", namespace: "shop", labels: { "kubernetes.io/service-name": "web" } },
  addressType: "IPv4",
  ports: [{ name: "http", port: 8080, protocol: "TCP" }],
  endpoints: Array.from({ length: endpoints }, (_, i) => ({
    ...{ addresses: [`10.0.0.${i}`], nodeName: "node-1", zone: "a" },
    conditions: { ready: true, serving: true, terminating: false },
    targetRef: { kind: "Pod", namespace: "shop", name: `web-7c9d8f6b5-${i}`, uid: `0b5e3c1a-${i}` },
  })),
};

function heapOf(object: object, keep: (one: KubeObject) => unknown): number {
  const text = JSON.stringify(object);
  const kept: unknown[] = [];
  for (let i = 0; i < 100; i++) keep(JSON.parse(text));
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  for (let i = 0; i < count; i++) kept.push(keep(JSON.parse(text.replaceAll("abcde", `x${i}`))));
  globalThis.gc?.();
  return Math.round((process.memoryUsage().heapUsed - before) / kept.length);
}

const whole = (one: KubeObject): unknown => one;
const narrow = (one: KubeObject): unknown => narrowObject(one);
console.log(`a Pod: ${heapOf(pod, whole)} B as it comes, ${heapOf(pod, narrow)} B as it is kept`);
console.log(
  `an endpoint of a slice of ${endpoints}: ${Math.round(heapOf(slice, whole) / endpoints)} B as it comes, ` +
    `${Math.round(heapOf(slice, narrow) / endpoints)} B as it is kept`,
);
