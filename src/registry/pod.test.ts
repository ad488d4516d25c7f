import { describe, expect, test } from "vitest";
import { narrowObject } from "../kube/index.ts";
import type { KubeObject } from "../model/index.ts";
import { readPod } from "./pod.ts";

const pod = (
  metadata: Readonly<Record<string, unknown>>,
  rest: Readonly<Record<string, unknown>> = {},
): KubeObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web-5d4f-abcde", namespace: "shop", ...metadata },
  ...rest,
});
const owner = (kind: string, name: string) => [{ apiVersion: "v1", kind, name, uid: "1", controller: true }];

describe("the workload's name", () => {
  test.each([
    ["no owner", {}, "web-5d4f-abcde"],
    [
      "a Deployment's ReplicaSet",
      {
        generateName: "web-5d4f-",
        labels: { "pod-template-hash": "5d4f" },
        ownerReferences: owner("ReplicaSet", "web-5d4f"),
      },
      "web",
    ],
    [
      "a Rollout's ReplicaSet",
      {
        generateName: "web-",
        labels: { "rollouts-pod-template-hash": "5d4f" },
        ownerReferences: owner("ReplicaSet", "web-5d4f"),
      },
      "web",
    ],
    ["a plain ReplicaSet", { generateName: "web-", ownerReferences: owner("ReplicaSet", "web-5d4f") }, "web-5d4f"],
    [
      "a StatefulSet, whose pod names are not generated",
      { ownerReferences: owner("StatefulSet", "web") },
      "web-5d4f-abcde",
    ],
    ["a CronJob's Job", { generateName: "n-", ownerReferences: owner("Job", "nightly-28391000") }, "nightly"],
    ["a Job", { generateName: "n-", ownerReferences: owner("Job", "nightly-1") }, "nightly-1"],
    ["a label that says so", { labels: { "service.istio.io/workload-name": "said" } }, "said"],
  ])("of %s", (_case, metadata, expected) => {
    expect(readPod(pod(metadata)).workload).toBe(expected);
  });
});

test("ports of native sidecars count, those of other init containers do not", () => {
  const port = (name: string) => ({ name, containerPort: 1, protocol: "TCP" });
  const spec = {
    containers: [{ name: "app", ports: [port("app")] }],
    initContainers: [
      { name: "init", ports: [port("init")] },
      { name: "native", restartPolicy: "Always", ports: [port("native")] },
    ],
  };
  expect(readPod(pod({}, { spec })).ports.map(({ name }) => name)).toEqual(["app", "native"]);
});

test("fields of the wrong shape count as absent", () => {
  const read = readPod(pod({}, { spec: "x", status: { podIPs: [1], conditions: {} } }));
  expect(read).toMatchObject({ addresses: [], ports: [], usable: false, serviceAccount: "", proxyArgs: undefined });
});

test("what the API's door keeps of a Pod is all that is read of it", () => {
  const whole = pod(
    {
      generateName: "web-5d4f-",
      labels: { "pod-template-hash": "5d4f" },
      annotations: { "proxy.istio.io/config": "{}" },
      ownerReferences: owner("ReplicaSet", "web-5d4f"),
      creationTimestamp: "2026-01-01T00:00:00Z",
    },
    {
      spec: {
        nodeName: "n",
        serviceAccountName: "sa",
        hostname: "h",
        subdomain: "s",
        containers: [
          { name: "app", image: "a", ports: [{ name: "http", containerPort: 80 }] },
          { name: "istio-proxy", args: ["proxy", "router"], env: [{ name: "A", value: "1" }] },
        ],
        initContainers: [{ name: "native", restartPolicy: "Always", ports: [{ containerPort: 1 }] }],
      },
      status: { phase: "Running", podIPs: [{ ip: "10.0.0.1" }], conditions: [{ type: "Ready", status: "True" }] },
    },
  );
  expect(readPod(narrowObject(whole))).toEqual(readPod(whole));
});
