/** The sample application as a person starts it: real Envoys, namespaces and capture, proven by its own checks; and nothing left behind. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runKubectl } from "../../src/apiserver/testing.ts";
import { planNetwork } from "../../src/standalone/index.ts";
import { lacks } from "../require.ts";
import { forward } from "../standalone/kubectl.ts";
import { anyPort, fairlead, type Started, startFairlead } from "./fairlead.ts";

/** What is on the host because of this data folder: namespaces, devices and folders carry its prefix. */
function onHost(prefix: string): readonly string[] {
  const namespaces = spawnSync("ip", ["netns", "list"], { encoding: "utf8" }).stdout.split("\n");
  const links: { ifname: string }[] = JSON.parse(spawnSync("ip", ["-j", "link"], { encoding: "utf8" }).stdout);
  const folders = existingFolders("/run/fairlead");
  return [...namespaces, ...links.map((link) => link.ifname), ...folders]
    .filter((name) => name.startsWith(prefix))
    .sort();
}

function existingFolders(path: string): readonly string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

describe.skipIf(lacks("root", "envoy", "iptables"))("the demo", () => {
  const data = mkdtempSync(join(tmpdir(), "fairlead-demo-"));
  afterAll(() => rmSync(data, { recursive: true, force: true }));

  test("proves itself and leaves nothing behind", { timeout: 300_000 }, async () => {
    const { prefix } = planNetwork({ dataDir: realpathSync(data) });
    const { status, stdout, stderr } = await fairlead(["up", "--demo", "--check", "--data", data, ...anyPort]);
    expect(stdout, stderr).toContain("12 of 12 checks passed");
    expect(stdout).not.toContain("FAIL");
    expect(status, stderr).toBe(0);
    expect(onHost(prefix)).toEqual([]);
  });

  describe("while it runs", { timeout: 300_000 }, () => {
    const kubeconfig = join(data, "kubeconfig");
    const kubectl = (args: string) => runKubectl({ kubeconfig, home: data, timeoutMs: 60_000 }, args);
    let demo: Started | undefined;
    beforeAll(async () => {
      demo = startFairlead(["up", "--demo", "--data", data, ...anyPort]);
      await demo.until("ready\n");
    }, 300_000);
    afterAll(async () => {
      demo?.child.kill("SIGTERM");
      await demo?.exited;
    });

    test("has nothing that `analyze` would change", async () => {
      const analyzed = await fairlead(["analyze", "-A", "--kubeconfig", kubeconfig]);
      expect(analyzed.stdout.trim()).toBe("");
      expect(analyzed.stderr).toContain("No validation issues found when analyzing all namespaces");
    });

    test.skipIf(lacks("kubectl"))("kubectl reaches into its Pods", async () => {
      const { out: address } = await kubectl("get pod details-v1 -o jsonpath={.status.podIP}");
      expect((await kubectl("exec details-v1 -c app -- ip -o -4 addr show eth0")).out).toContain(` ${address}/`);
      expect(await kubectl("exec details-v1 -c istio-proxy -- id -u")).toMatchObject({ code: 0, out: "1337\n" });
      expect((await kubectl("logs productpage-v1 -c istio-proxy")).out).toContain("Envoy");
      const admin = await forward({ dir: data, kubeconfig }, ["pod/details-v1", ":15000"]);
      try {
        const answer = await fetch(`http://127.0.0.1:${admin.port}/server_info`);
        expect(await answer.text()).toContain("details-v1.default");
      } finally {
        await admin.stop();
      }
    });

    test.skipIf(lacks("kubectl"))(
      "its control plane is a Pod that is ready, and started again when deleted",
      async () => {
        const restarts = "{.status.containerStatuses[0].ready} {.status.containerStatuses[0].restartCount}";
        const look = async (): Promise<string> =>
          (await kubectl(`get pod istiod -n istio-system -o 'jsonpath=${restarts}'`)).out;
        expect(await look()).toBe("true 0");
        expect((await kubectl("logs deploy/istiod -n istio-system --tail=1")).out).not.toBe("");
        const monitoring = await forward({ dir: data, kubeconfig }, ["-n", "istio-system", "pod/istiod", ":15014"]);
        try {
          expect((await fetch(`http://127.0.0.1:${monitoring.port}//version`)).status).toBe(200);
          const syncz = await (await fetch(`http://127.0.0.1:${monitoring.port}/debug/syncz`)).text();
          // What only our agents follow is nothing that istioctl's users know.
          expect([syncz.includes("details-v1.default"), syncz.includes("fairlead.workload")]).toEqual([true, false]);
        } finally {
          await monitoring.stop();
        }
        await kubectl("delete pod istiod -n istio-system");
        await expect.poll(look, { timeout: 120_000, interval: 500 }).toBe("true 1");
        const before = await kubectl("get pod istiod -n istio-system -o jsonpath={.metadata.uid}");
        expect((await kubectl("rollout restart deploy/istiod -n istio-system")).err).toBe("");
        const rolled = await kubectl("rollout status deploy/istiod -n istio-system --timeout=120s");
        expect(rolled).toMatchObject({ code: 0, out: expect.stringContaining("successfully rolled out") });
        expect(await look()).toBe("true 2");
        const after = await kubectl("get pod istiod -n istio-system -o jsonpath={.metadata.uid}");
        expect(after.out).not.toBe(before.out);
        // There is one process: what asks for two is taken back, with a word on it.
        await kubectl("scale deploy/istiod -n istio-system --replicas=2");
        const replicas = async (): Promise<string> =>
          (await kubectl("get deploy istiod -n istio-system -o jsonpath={.spec.replicas}/{.status.replicas}")).out;
        await expect.poll(replicas, { timeout: 60_000, interval: 500 }).toBe("1/1");
        const events = await kubectl("get events -n istio-system --field-selector reason=FailedScale");
        expect(events.out).toContain("fairlead up runs one control plane");
        // By which Kiali tells that it is this cluster's own.
        const first = "{.spec.template.spec.containers[0].env[0]";
        const cluster = await kubectl(`get deploy istiod -n istio-system -o jsonpath=${first}.name}${first}.value}`);
        expect(cluster.out).toBe("CLUSTER_IDKubernetes");
        const owner = "{.metadata.ownerReferences[0].kind}/{.metadata.ownerReferences[0].name}";
        const set = await kubectl(`get pod istiod -n istio-system -o 'jsonpath=${owner}'`);
        expect(set.out).toMatch(/^ReplicaSet\/istiod-[0-9a-f]{10}$/);
        expect((await kubectl("get rs -n istio-system -o name")).out.trim().split("\n")).toHaveLength(1);
        expect((await kubectl("top pod istiod -n istio-system --no-headers")).out).toMatch(/^istiod\s+\d+m\s+\d+Mi/);
      },
    );
  });
});
