/** `kubectl top` against the embedded API: what processes of this machine use, as metrics.k8s.io, and who may know. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { credentialsOf } from "../../src/apiserver/testing.ts";
import { lacks } from "../require.ts";
import { type PodApi, startPodApi } from "./kubectl.ts";

let [pods, busy]: [PodApi | undefined, ChildProcess | undefined] = [undefined, undefined];
const mesh = (): PodApi => {
  if (!pods) throw new Error("not started");
  return pods;
};
const metrics = "/apis/metrics.k8s.io/v1beta1";

beforeAll(async () => {
  busy = spawn(process.execPath, ["-e", "console.log('up'); for (;;);"], { stdio: ["ignore", "pipe", "inherit"] });
  if (busy.stdout) await once(busy.stdout, "data");
  const [pid, own] = [busy.pid ?? 0, process.pid];
  pods = await startPodApi();
  const { api } = pods;
  const processes = new Map([
    ["app", [pid]],
    ["istio-proxy", [own]],
  ]);
  await pods.host("busy", ["app", "istio-proxy"], { processes: () => processes });
  await pods.host("ended", ["app"], {});
  await api.call("PATCH", "/api/v1/namespaces/default/pods/busy", { metadata: { labels: { app: "busy" } } }, merge);
  const spec = { nodeName: "localhost", containers: [{ name: "app", image: "none" }] };
  await api.call("POST", "/api/v1/namespaces/default/pods", { metadata: { name: "elsewhere" }, spec });
  for (const [name, runtime] of [
    ["localhost", "fairlead://v1"],
    ["other", "containerd://2"],
  ]) {
    await api.call("POST", "/api/v1/nodes", { metadata: { name } });
    const capacity = { cpu: "4", memory: "8Gi" };
    const status = { capacity, allocatable: capacity, nodeInfo: { containerRuntimeVersion: runtime } };
    await api.call("PATCH", `/api/v1/nodes/${name}/status`, { status }, merge);
  }
});

afterAll(async () => {
  busy?.kill("SIGKILL");
  await pods?.close();
});

const merge = "application/merge-patch+json";

describe.skipIf(lacks("kubectl"))("kubectl top", () => {
  test("pods: each container that runs here, with its processor and memory", async () => {
    const { api } = mesh();
    const { code, out, err } = await api.kubectl("top pods --containers --no-headers");
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const rows = out
      .trimEnd()
      .split("\n")
      .map((line) => line.split(/\s+/));
    expect(rows.map(([pod, container]) => `${pod}/${container}`)).toEqual(["busy/app", "busy/istio-proxy"]);
    const [cores, memory] = [rows[0]?.[2] ?? "", rows[0]?.[3] ?? ""];
    // It does nothing but run: what it gets depends on who else does.
    expect(Number(/^(\d+)m$/.exec(cores)?.[1])).toBeGreaterThan(20);
    expect(Number(/^(\d+)Mi$/.exec(memory)?.[1])).toBeGreaterThan(5);
  });

  test("pods: by label, by name, of all namespaces, and where there are none", async () => {
    const { api } = mesh();
    expect((await api.kubectl("top pod -l app=busy --no-headers")).out).toMatch(/^busy\s+\d+m\s+\d+Mi\s*$/);
    expect((await api.kubectl("top pod busy --no-headers")).out).toMatch(/^busy /);
    expect((await api.kubectl("top pods -A --sum --no-headers")).out).toMatch(/^default\s+busy\s+\d+m\s+\d+Mi/);
    expect((await api.kubectl("top pod -l app=none")).err).toContain("No resources found");
    expect((await api.kubectl("top pod ended")).err).toContain('pods.metrics.k8s.io "ended" not found');
  });

  test("nodes: this machine alone", async () => {
    const { out } = await mesh().api.kubectl("top nodes --no-headers");
    expect(out).toMatch(/^localhost\s+\d+m\s+\d+%\s+\d+Mi\s+\d+%/m);
    expect(out).toMatch(/^other\s+<unknown>/m);
  });

  test("the group is one that clients find, as APIs and as objects", async () => {
    const { api } = mesh();
    const services = await api.kubectl("get apiservices --no-headers");
    expect(services.out).toMatch(/^v1beta1\.metrics\.k8s\.io\s+Local\s+True\s+\w+$/m);
    expect(services.out).toMatch(/^v1\.\s+Local\s+True/m);
    expect((await api.kubectl("get apiservice v1beta1.metrics.k8s.io -o name")).out).toContain("apiservice");
    expect((await api.kubectl("get apiservice v9.none")).err).toContain('"v9.none" not found');
    expect((await api.kubectl("api-resources --api-group=metrics.k8s.io --no-headers")).out).toMatch(/PodMetrics/);
    expect((await api.kubectl("get pods.metrics.k8s.io --no-headers")).out).toMatch(/^busy\s+\d+m\s+\d+Mi\s+[\d.]+s$/m);
    // The word alone means what it always did.
    expect((await api.kubectl("get pods -o name")).out.split("\n")).toContain("pod/elsewhere");
    expect((await api.kubectl("get pods.metrics.k8s.io busy -o jsonpath={.containers[*].usage.cpu}")).out).toMatch(
      /^\d+n \d+n$/,
    );
  });
});

test("only who may read metrics does, and nobody writes them", async () => {
  const { api } = mesh();
  const as = async (user: string): Promise<number> => {
    const credentials = await credentialsOf(api.server, { user });
    return (await api.call("GET", `${metrics}/namespaces/default/pods`, undefined, undefined, credentials)).code;
  };
  expect(await as("stranger")).toBe(403);
  const rbac = "rbac.authorization.k8s.io";
  await api.call("POST", `/apis/${rbac}/v1/namespaces/default/rolebindings`, {
    metadata: { name: "viewer" },
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name: "view" },
    subjects: [{ apiGroup: rbac, kind: "User", name: "viewer" }],
  });
  await expect.poll(() => as("viewer")).toBe(200);
  for (const method of ["POST", "DELETE"])
    expect((await api.call(method, `${metrics}/namespaces/default/pods`, {})).code).toBe(405);
  expect((await api.call("GET", `${metrics}/namespaces/default/pods?watch=true`)).code).toBe(405);
  expect((await api.call("GET", `${metrics}/namespaces/default/pods?fieldSelector=spec.none=1`)).code).toBe(400);
});
