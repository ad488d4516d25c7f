/** What a real Envoy refuses is told on the object that made it, and over when the object is mended. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createKubeClient, type KubeClient, kindRef, kubeKinds, loadKubeconfig } from "../../src/kube/index.ts";
import { readList, readRecord } from "../../src/lib/index.ts";
import { istioKinds, type KubeObject } from "../../src/model/index.ts";
import { lacks } from "../require.ts";
import { addressesOf, anyPort, fairlead, type Started, startFairlead } from "./fairlead.ts";

const [envoyFilters] = istioKinds.filter(({ kind }) => kind === "EnvoyFilter").map(kindRef);
const at = { name: "lua", namespace: "default" };

/** Nobody but Envoy reads the code. */
const filter = (code: string): KubeObject => ({
  apiVersion: "networking.istio.io/v1alpha3",
  kind: "EnvoyFilter",
  metadata: at,
  spec: {
    configPatches: [
      {
        applyTo: "HTTP_FILTER",
        match: {
          context: "SIDECAR_INBOUND",
          listener: { filterChain: { filter: { name: "envoy.filters.network.http_connection_manager" } } },
        },
        patch: {
          operation: "INSERT_FIRST",
          value: {
            name: "envoy.filters.http.lua",
            typed_config: {
              "@type": "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua",
              default_source_code: { inline_string: code },
            },
          },
        },
      },
    ],
  },
});

describe.skipIf(lacks("root", "envoy", "iptables"))("a patch that Envoy refuses", () => {
  const data = mkdtempSync(join(tmpdir(), "fairlead-refused-"));
  const running: Started[] = [];
  let api: KubeClient;
  let isReady: () => boolean;
  beforeAll(async () => {
    const mesh = startFairlead(["up", "--data", data, ...anyPort]);
    running.push(mesh);
    await mesh.until("ready\n");
    api = createKubeClient(await loadKubeconfig({ paths: [join(data, "kubeconfig")], env: {} }));
    const script = `require("node:http").createServer((_, answer) => answer.end("hello")).listen(8000)`;
    const web = startFairlead([
      ...["run", "--data", data, "--name", "web", "--port", "8000", "--expose"],
      ...["--", process.execPath, "-e", script],
    ]);
    running.push(web);
    isReady = () => web.stderr().includes("web is ready");
  });
  afterAll(async () => {
    api.close();
    for (const one of running.splice(0).reverse()) {
      one.child.kill("SIGTERM");
      await one.exited;
    }
    rmSync(data, { recursive: true, force: true });
  });

  test("has a condition, an Event, a row and a figure that name it, until it is mended", async () => {
    if (!envoyFilters) throw new Error("there is no such kind");
    const kind = envoyFilters;
    const condition = async () =>
      readList(readRecord((await api.get(kind, at)).status).conditions)
        .map(readRecord)
        .find(({ type }) => type === "Reconciled");
    const figure = async (): Promise<string> =>
      /^fairlead_refused_objects (\d+)/m.exec(
        await (await fetch(`http://${addressesOf(data)["monitoring"]}/metrics`)).text(),
      )?.[1] ?? "";

    await expect.poll(isReady, { timeout: 60_000 }).toBe(true);
    await api.create(kind, filter("this is no Lua"));
    await expect.poll(condition).toMatchObject({
      status: "False",
      observedGeneration: "1",
      message: expect.stringMatching(
        /^\[FLD0006\] spec\.configPatches\[0\].*: The Envoy of web\.default refused LDS virtualInbound.*script load error/,
      ),
    });
    expect(await figure()).toBe("1");
    const events = async () =>
      (await api.list(kubeKinds.events, { namespace: "default", fieldSelector: "involvedObject.name=lua" })).items.map(
        (event) => `${event.reason} ${event.message}`,
      );
    await expect.poll(events).toContainEqual(expect.stringMatching(/^RefusedByProxy The Envoy of web\.default/));
    const { stdout } = await fairlead(["proxy-status", "--data", data, "-v"]);
    expect(stdout).toMatch(/LDS virtualInbound was made by EnvoyFilter\/default\/lua spec\.configPatches\[0\]/);

    const checked = await fairlead(["check", "--data", data]);
    expect([checked.status, checked.stderr]).toEqual([0, ""]);
    for (const line of [
      /^√ the API answers$/m,
      /^√ the API was started again 0 times$/m,
      /^‼ 1 objects make something that a proxy refuses\n.*\n.*proxy-status -v/m,
      /^√ the proxy of web\.default is ready, started again 0 times$/m,
      / the agent of web\.default was at most \d+ ms late, refused 0 requests, and ended 0 hanging Envoys$/m,
    ])
      expect(checked.stdout).toMatch(line);

    await api.patch(kind, at, "merge", { spec: filter("function envoy_on_response(h) end").spec });
    await expect.poll(condition).toMatchObject({ status: "True", observedGeneration: "2" });
    expect(await figure()).toBe("0");
  });
});
