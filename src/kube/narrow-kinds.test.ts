import { expect, test } from "vitest";
import { createGraph } from "../collections/index.ts";
import type { KubeObject } from "../model/index.ts";
import { kubeKinds } from "./kinds.ts";
import { narrowObject } from "./narrow-kinds.ts";
import { createReplica } from "./replica.ts";

/** As a kubelet and an injector leave it, in the parts that count. */
const pod = (version: number, more: Readonly<Record<string, unknown>> = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    name: "web-5d4f-abcde",
    namespace: "shop",
    uid: "1",
    resourceVersion: `${version}`,
    labels: { app: "web" },
    annotations: {
      "kubectl.kubernetes.io/last-applied-configuration": "x".repeat(3000),
      "proxy.istio.io/config": "concurrency: 1",
      "sidecar.istio.io/status": "x".repeat(500),
    },
  },
  spec: {
    nodeName: "n1",
    serviceAccountName: "web",
    volumes: [{ name: "token" }],
    containers: [
      { name: "app", args: ["--serve"], env: [{ name: "A", value: "1" }], ports: [{ containerPort: 80 }] },
      { name: "istio-proxy", args: ["proxy", "sidecar"], env: [{ name: "B", value: "2" }] },
    ],
  },
  status: { phase: "Running", podIP: "10.0.0.1", conditions: [{ type: "Ready", status: "True" }], ...more },
});

test("of a Pod only what a mesh reads is kept", () => {
  expect(narrowObject(pod(7))).toEqual({
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "web-5d4f-abcde",
      namespace: "shop",
      uid: "1",
      resourceVersion: "7",
      labels: { app: "web" },
      annotations: { "proxy.istio.io/config": "concurrency: 1" },
    },
    spec: {
      nodeName: "n1",
      serviceAccountName: "web",
      containers: [
        { name: "app", ports: [{ containerPort: 80 }] },
        { name: "istio-proxy", args: ["proxy", "sidecar"] },
      ],
    },
    status: { phase: "Running", podIP: "10.0.0.1", conditions: [{ type: "Ready", status: "True" }] },
  });
});

test("kinds that are written back are kept whole, and odd shapes do no harm", () => {
  const configMap: KubeObject = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "istio", annotations: { "example.com/a": "b" } },
    data: { mesh: "" },
  };
  expect(narrowObject(configMap)).toBe(configMap);
  const odd = { apiVersion: "v1", kind: "Pod", metadata: { name: "odd" }, spec: "x", status: { conditions: 1 } };
  expect(narrowObject(odd)).toEqual({ apiVersion: "v1", kind: "Pod", metadata: { name: "odd" }, status: {} });
});

test("an edit of what is not kept is no change; of what is kept it is", () => {
  const graph = createGraph();
  const replica = createReplica({
    graph,
    batcher: { add: (change) => change(), flush: () => {} },
    kind: kubeKinds.pods,
    narrow: true,
  });
  const told: string[] = [];
  replica.objects.subscribe((key) => told.push(key));
  const say = (object: KubeObject): boolean => replica.apply({ type: "MODIFIED", object });
  say(pod(1));
  say(pod(2, { startTime: "2026-01-01T00:00:00Z" }));
  say(pod(3, { conditions: [{ type: "Ready", status: "True", lastProbeTime: "2026-01-01T00:00:00Z" }] }));
  expect(told).toHaveLength(1);
  say(pod(4, { conditions: [{ type: "Ready", status: "False" }] }));
  expect(told).toHaveLength(2);
  // What comes late is still known as late.
  say(pod(2));
  expect(told).toHaveLength(2);
});
