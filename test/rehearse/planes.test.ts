/** `proxy-status` and `check` of a cluster: its control planes are asked through the API. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { runCli } from "../../src/cli/testing.ts";
import { type ControlledApi, startControlledApi } from "../../src/control-plane/controllers/testing.ts";
import type { Discovery } from "../../src/control-plane/discovery.ts";
import { allowSecrets, connectProxy, type ScriptedProxy, startPlane } from "../../src/control-plane/testing.ts";
import type { PodServer } from "../../src/standalone/kubelet/pod-server.ts";
import { hostIstiod } from "./host-istiod.ts";
import { objects } from "./objects.ts";

let world: ControlledApi;
let plane: Discovery;
let host: PodServer;
const proxies: ScriptedProxy[] = [];

beforeAll(async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "fairlead-planes-"));
  world = await startControlledApi({ dataDir, podDir: join(dataDir, "run", "pods") });
  await allowSecrets(world);
  for (const object of objects("5s")) await world.create(object);
  plane = await startPlane(world);
  host = await hostIstiod(world, plane);
  proxies.push(
    await connectProxy(plane, "client.default", ["80"]),
    await connectProxy(plane, "web-1.default", ["80"], ({ typeUrl }) =>
      typeUrl.endsWith("Listener") ? "no \u001b[2Jsuch filter" : undefined,
    ),
  );
  const states = async () => JSON.parse((await cli("ps", "-o", "json")).stdout) as { errors: object }[];
  await vi.waitFor(async () => {
    const all = await states();
    expect(all.map(({ errors }) => Object.keys(errors)).sort()).toEqual([["LDS"], []].sort());
    expect(proxies.map(({ responses }) => responses.get("RouteConfiguration"))).toEqual([1, 1]);
  }, 120_000);
});

afterAll(async () => {
  for (const proxy of proxies) proxy.close();
  await host?.close();
  world?.stop.abort();
  await plane?.close();
  await world?.close();
});

const cli = (...args: readonly string[]) =>
  runCli([...args, ...(asksPlanes.has(args[0] ?? "") ? ["--kubeconfig", world.api.kubeconfig] : [])]);
const asksPlanes = new Set(["ps", "check", "stat", "tap"]);

describe("proxy-status", () => {
  test("says who is in step, for how long, and what a proxy said of what it refused", async () => {
    const { status, stdout } = await cli("ps");
    expect(stdout).toMatch(/^NAME +CLUSTER +ISTIOD +VERSION +SUBSCRIBED TYPES +LAST ACK +WHY$/m);
    expect(stdout).toMatch(/^client\.default .* istiod-1 .* 3 \(CDS,LDS,RDS\) +\d+s$/m);
    expect(stdout).toMatch(/^web-1\.default .* LDS: .*no \\u001b\[2Jsuch filter/m);
    expect(status).toBe(0);
  });

  test("-v has a column for each type in use, with its age; what nobody follows is ignored", async () => {
    const { stdout } = await cli("ps", "-v");
    const [header = "", ...lines] = stdout.split("\n");
    expect(header.split(/ {2,}/).slice(2, 7)).toEqual(["CDS", "LDS", "EDS", "RDS", "ECDS"]);
    const cells = (name: string) => lines.find((line) => line.startsWith(name))?.split(/ {2,}/) ?? [];
    // They have said of no cluster that they are in it, and an empty cell is none.
    expect(cells("client.default").slice(1, 6)).toEqual([
      ...[expect.stringMatching(/^SYNCED \(\d+s\)$/), expect.stringMatching(/^SYNCED \(\d+s\)$/), "IGNORED"],
      ...[expect.stringMatching(/^SYNCED \(\d+s\)$/), "IGNORED"],
    ]);
    expect(cells("web-1.default")[2]).toMatch(/^ERROR \(\d+s\)$/);
  });

  test("names alone, and by a template", async () => {
    expect((await cli("ps", "-o", "name")).stdout.trim().split("\n").sort()).toEqual([
      "client.default",
      "web-1.default",
    ]);
    expect((await cli("ps", "client", "-o", "jsonpath={.items[0].proxy}")).stdout).toBe("client.default\n");
    expect(await cli("ps", "nobody.default")).toMatchObject({ status: 1, stderr: "nobody.default is not connected\n" });
  });
});

describe("check", () => {
  const findings = async (...flags: readonly string[]) =>
    JSON.parse((await cli("check", "-o", "json", ...flags)).stdout) as {
      section: string;
      name: string;
      state: string;
    }[];

  test("looks at the API, the installation, the control planes and the proxies", async () => {
    const all = await findings();
    expect([...new Set(all.map(({ section }) => section))]).toEqual([
      "api",
      "installation",
      "control-plane",
      "proxies",
    ]);
    expect(all.filter(({ state }) => state === "ok").map(({ name }) => name)).toEqual(
      expect.arrayContaining(["istiod-1 is ready, started again 0 times", "client.default is in step"]),
    );
    expect(all).toContainEqual(
      expect.objectContaining({
        name: "web-1.default is not in step",
        state: "warning",
        remedy: "fairlead proxy-status -v web-1.default",
      }),
    );
  });

  test("--category, --skip and --proxy choose", async () => {
    const sections = async (...flags: readonly string[]) => [
      ...new Set((await findings(...flags)).map(({ section }) => section)),
    ];
    expect(await sections("--category", "api", "--category", "proxies")).toEqual(["api", "proxies"]);
    expect(await sections("--skip", "installation")).toEqual(["api", "control-plane", "proxies"]);
    expect(await findings("--proxy", "client.default")).toMatchObject([{ name: "client.default is in step" }]);
    expect(await cli("check", "--category", "none")).toMatchObject({
      ...{
        status: 2,
        stderr: 'fairlead: there is no category "none"\n  there is api, installation, control-plane, proxies\n',
      },
    });
    expect(await cli("check", "--proxy", "nobody.default")).toMatchObject({ status: 1 });
  });

  test("--wait ends when all is well, and prints once", async () => {
    const { status, stdout, stderr } = await cli("check", "--wait", "20s", "--proxy", "client.default");
    expect(stdout.match(/client\.default is in step/g)).toHaveLength(1);
    expect([status, stderr]).toEqual([0, ""]);
  });
});

describe("commands on requests", () => {
  test("ask the control planes of a cluster through its API, also for live requests", async () => {
    expect(JSON.parse((await cli("stat", "-o", "json")).stdout)).toMatchObject({
      by: "workload",
      reporters: 0,
      rows: [],
    });
    const { status, stderr } = await cli("tap", "--for", "100ms");
    expect([status, stderr]).toEqual([0, "no proxy that reports to this control plane is meant\n"]);
  });
});
