/**
 * The chart's Deployment and two injected Pods, run from the image's root filesystem: read-only, as the users that the
 * objects name, without any capability but those that they name, in network namespaces, with real traffic.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { environment } from "../../scripts/image/layers.ts";
import { startApi, type TestApi } from "../../src/apiserver/testing.ts";
import { runCli } from "../../src/cli/testing.ts";
import { createKubeClient, type KubeClient, loadKubeconfig } from "../../src/kube/index.ts";
import { parseYaml, readRecord } from "../../src/lib/index.ts";
import type { KubeObject } from "../../src/model/index.ts";
import { service, slice } from "../render/objects.ts";
import { lacks } from "../require.ts";
import { startApp } from "../traffic/app.ts";
import { type Caller, startCaller } from "../traffic/caller.ts";
import { eventually } from "../traffic/mesh.ts";
import { createTrafficNetwork, type TrafficNetwork } from "../traffic/network.ts";
import { startContainer } from "./container.ts";
import { type RunningPod, runPod } from "./kubelet.ts";
import { makeImageRoot } from "./root.ts";

const root = join(import.meta.dirname, "../..");

describe.skipIf(lacks("root", "envoy", "iptables", "nft"))("Pods of the image", () => {
  const out = mkdtempSync(join(tmpdir(), "fairlead-image-"));
  const running: RunningPod[] = [];
  const closers: (() => unknown)[] = [];
  let network: TrafficNetwork;
  let api: TestApi;
  let client: KubeClient;
  let plane = "";

  const place = async (): Promise<{ readonly address: string; readonly path: string }> => network.pod();
  async function start(pod: KubeObject, at: { readonly address: string; readonly path: string }): Promise<RunningPod> {
    const host = { root: join(out, "root"), journal: network.journal, network: at.path };
    const hosts = { "istiod.istio-system.svc": plane };
    const { url, ca } = api.server;
    const started = await runPod(pod, { host, api: { client, url, ca }, address: at.address, environment, hosts });
    running.push(started);
    return started;
  }
  /** Through the API, and so through the webhook; with the address that a kubelet would report. */
  async function create(pod: object, address: string): Promise<KubeObject> {
    const { code, body } = await api.call("POST", "/api/v1/namespaces/default/pods", pod);
    expect(body).toMatchObject({ kind: "Pod" });
    expect(code).toBe(201);
    const made = body as unknown as KubeObject;
    const status = {
      phase: "Running",
      podIP: address,
      podIPs: [{ ip: address }],
      conditions: [{ type: "Ready", status: "True" }],
    };
    await api.call("PUT", `/api/v1/namespaces/default/pods/${made.metadata.name}/status`, { ...made, status });
    return made;
  }

  beforeAll(async () => {
    makeImageRoot(out);
    network = await createTrafficNetwork();
    api = await startApi({
      host: await network.hostAddress(),
      resolveService: () => ({ host: plane, port: 15017 }),
    });
    client = createKubeClient(await loadKubeconfig({ paths: [api.kubeconfig], env: {} }));
  });
  afterAll(async () => {
    await Promise.all(running.map((pod) => pod.close()));
    for (const close of closers) close();
    client?.close();
    await api?.close();
    await network?.remove();
    rmSync(out, { recursive: true, force: true });
  });

  test("the control plane becomes ready as its Deployment has it", async () => {
    const installed = await runCli(["install", "--no-wait", "--profile", "demo"], out, 60_000, {
      KUBECONFIG: api.kubeconfig,
    });
    expect(installed).toMatchObject({ status: 0 });
    const { body } = await api.call("GET", "/apis/apps/v1/namespaces/istio-system/deployments/istiod");
    const template = readRecord(readRecord(body.spec).template);
    const at = await place();
    plane = at.address;
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { ...readRecord(template.metadata), name: "istiod-1", namespace: "istio-system" },
      spec: readRecord(template.spec),
    };
    const made = await api.call("POST", "/api/v1/namespaces/istio-system/pods", pod);
    expect(made.code).toBe(201);
    await start(made.body as unknown as KubeObject, at);
    // The API server may call its webhooks from now on.
    await eventually(async () => {
      const config = await api.call(
        "GET",
        "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/istio-sidecar-injector",
      );
      return JSON.stringify(config.body).includes("caBundle");
    }, "the webhook's certificate");
  });

  test("an injected Pod captures, speaks mTLS, waits for its proxy and drains", async () => {
    await api.call(
      "PATCH",
      "/api/v1/namespaces/default",
      { metadata: { labels: { "istio-injection": "enabled" } } },
      "application/merge-patch+json",
    );
    for (const name of ["web", "client"])
      await api.call("POST", "/api/v1/namespaces/default/serviceaccounts", {
        apiVersion: "v1",
        kind: "ServiceAccount",
        metadata: { name },
      });
    const vip = network.serviceAddress();
    const [webAt, clientAt] = [await place(), await place()];
    for (const object of [
      service("web", { spec: { clusterIP: vip } }),
      slice("web", [{ address: webAt.address, pod: "web" }]),
    ]) {
      const path =
        object.kind === "Service"
          ? "/api/v1/namespaces/default/services"
          : "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
      const { code, body } = await api.call("POST", path, object);
      expect([code, body.message]).toEqual([201, undefined]);
    }
    // By the webhook.
    const web = await create(
      {
        apiVersion: "v1",
        kind: "Pod",
        metadata: {
          name: "web",
          labels: { app: "web" },
          annotations: { "proxy.istio.io/config": "holdApplicationUntilProxyStarts: true" },
        },
        spec: {
          serviceAccountName: "web",
          containers: [{ name: "app", image: "web", ports: [{ containerPort: 8080 }] }],
        },
      },
      webAt.address,
    );
    const webPod = await start(web, webAt);
    expect([...webPod.containers.keys()]).toEqual(["istio-proxy"]);
    closers.push(await startApp(webAt.path, "web"));
    // By the command, which also makes Pods that the webhook then leaves alone.
    const manifest =
      "apiVersion: v1\nkind: Pod\nmetadata: {name: client, namespace: default, labels: {app: client}}\nspec: {serviceAccountName: client, containers: [{name: app, image: client}]}\n";
    const injected = spawnSync(process.execPath, [join(root, "dist/main.js"), "kube-inject", "-f", "-"], {
      input: manifest,
      encoding: "utf8",
    });
    const calling = await create(readRecord(parseYaml(injected.stdout)[0]), clientAt.address);
    const clientPod = await start(calling, clientAt);
    expect(clientPod.initOutput).toContain("iptables-restore");
    const proxy = clientPod.containers.get("istio-proxy");
    expect(await proxy?.exec(["pilot-agent", "wait"])).toMatchObject({ status: 0, stderr: "Envoy is ready\n" });
    const caller: Caller = startCaller(clientAt.path);
    closers.push(() => caller.stop());
    const answers = await caller.requests({ address: vip, port: 80, host: "web.default" }, 50);
    const seen = new Set(answers.map(({ status, body, error }) => `${status} ${body}${error}`));
    const identity = (name: string): string => `spiffe://cluster.local/ns/default/sa/${name}`;
    expect([...seen]).toEqual([`200 web By=${identity("web")} URI=${identity("client")}`]);
    const info = await proxy?.exec(["pilot-agent", "request", "GET", "/server_info"]);
    expect(info).toMatchObject({ status: 0, stdout: expect.stringContaining('"state": "LIVE"') });
    expect(await proxy?.exec(["pilot-agent", "request", "GET", "nothing"])).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("invalid path"),
    });
    const refused = await proxy?.exec(["pilot-agent", "request", "--debug-port=8080", "GET", "/"]);
    expect(refused).toMatchObject({ status: 2, stderr: expect.stringContaining("8080 is no port of the proxy") });
    const drained = await webPod.containers
      .get("istio-proxy")
      ?.exec(["pilot-agent", "request", "--debug-port=15020", "POST", "drain"]);
    expect(drained).toMatchObject({ status: 0, stdout: "OK\n" });
    expect(savedRules(clientAt.path)).toContain("ISTIO_REDIRECT");
    const captures = (...words: readonly string[]): Promise<number | string> =>
      startContainer(
        { root: join(out, "root"), journal: network.journal, network: clientAt.path },
        {
          ...{ command: ["/usr/local/bin/pilot-agent", ...words], env: environment, mounts: new Map() },
          ...{ user: 0, readOnly: true, capabilities: ["NET_ADMIN", "NET_RAW"] },
        },
      ).exited;
    expect(await captures("istio-clean-iptables")).toBe(0);
    expect(savedRules(clientAt.path)).not.toContain("ISTIO_");
    expect(await captures("istio-iptables", "--native-nftables", "-u", "1337", "-i", "*")).toBe(0);
    expect(nftRules(clientAt.path)).toContain("table inet istio-proxy-nat");
    expect(await captures("istio-clean-iptables", "--native-nftables")).toBe(0);
    expect(nftRules(clientAt.path)).not.toContain("istio");
  });
});

const nftRules = (namespace: string): string =>
  spawnSync("nsenter", [`--net=${namespace}`, "--", "nft", "list", "ruleset"], { encoding: "utf8" }).stdout;
const savedRules = (namespace: string): string =>
  spawnSync("nsenter", [`--net=${namespace}`, "--", "iptables-save"], { encoding: "utf8" }).stdout;
