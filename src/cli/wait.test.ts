/** `fairlead wait`, and kubectl's, on a control plane with proxies that answer as they are told to. */
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { lacks } from "../../test/require.ts";
import { type ControlledApi, startControlledApi } from "../control-plane/controllers/testing.ts";
import type { Discovery } from "../control-plane/index.ts";
import { connectProxy, type ScriptedProxy, startPlane } from "../control-plane/testing.ts";
import type { KubeObject } from "../model/index.ts";
import { type Outcome, runCli } from "./testing.ts";

const object = (apiVersion: string, kind: string, name: string, spec: object): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name, namespace: "default" },
  spec,
});
const route = (name: string, host: string, destination = host): KubeObject =>
  object("networking.istio.io/v1", "VirtualService", name, {
    hosts: [host],
    http: [{ timeout: "1s", route: [{ destination: { host: destination } }] }],
  });

describe("fairlead wait", () => {
  let world: ControlledApi;
  let plane: Discovery;
  let proxy: ScriptedProxy;
  const run = (...args: readonly string[]): Promise<Outcome> =>
    runCli(["wait", ...args, "--kubeconfig", world.api.kubeconfig]);

  beforeAll(async () => {
    world = await startControlledApi();
    for (const name of ["web", "other", "third"])
      await world.create(object("v1", "Service", name, { ports: [{ name: "http", port: 80 }] }));
    plane = await startPlane(world);
    proxy = await connectProxy(plane, "a.default", ["80"]);
    await world.create(route("web", "web"));
  });
  afterAll(async () => {
    proxy.close();
    await plane.close();
    await world.close();
  });

  test("apply --wait does so for what it applied", async () => {
    const file = join(world.api.dir, "applied.json");
    writeFileSync(file, JSON.stringify(route("applied", "third")));
    const { status, stdout } = await runCli(["apply", "-f", file, "--wait", "--kubeconfig", world.api.kubeconfig]);
    expect(stdout).toMatch(
      /^virtualservice\/applied applied\nvirtualservice\.networking\.istio\.io\/applied: 1\/1 proxies have acknowledged generation 1\n$/,
    );
    expect(status).toBe(0);
  });

  test("returns when all proxies have it, as the status says", async () => {
    expect(await run("virtualservice/web")).toMatchObject({
      status: 0,
      stdout: "virtualservice.networking.istio.io/web: 1/1 proxies have acknowledged generation 1\n",
    });
  });

  test("as data for programs", async () => {
    const { status, stdout } = await run("vs/web", "-o", "json");
    expect([status, JSON.parse(stdout)]).toEqual([
      0,
      [
        {
          ...{ object: "virtualservice.networking.istio.io/web", programmed: true, generation: 1 },
          ...{ reason: "Programmed", message: "1/1 proxies have acknowledged generation 1" },
        },
      ],
    ]);
    expect((await run("vs/web", "-o", "name")).stdout).toBe("virtualservice.networking.istio.io/web\n");
  });

  test("asks control planes themselves, whose counts add up", async () => {
    const { host, port } = plane.addresses.monitoring;
    const address = `${host}:${port}`;
    expect((await run("vs", "web", "--address", address)).stdout).toContain("1/1 proxies have acknowledged");
    expect((await run("vs/web", "--address", address, "--address", address)).stdout).toContain(
      "2/2 proxies of 2 control planes have acknowledged generation 1",
    );
  });

  test("says who refused it, with its words, and who has not answered", async () => {
    const { host, port } = plane.addresses.monitoring;
    await proxy.answer(({ typeUrl }) => (typeUrl.endsWith("RouteConfiguration") ? "silence" : undefined));
    await world.create(route("other", "other"));
    const late = await run("vs/other", "--timeout", "2s", "--address", `${host}:${port}`);
    expect(late).toMatchObject({ status: 1, stdout: "" });
    expect(late.stderr).toContain("timed out: virtualservice.networking.istio.io/other: 0/1 proxies have acknowledged");
    expect(late.stderr).toContain("no answer yet of a.default");
    await proxy.answer(({ typeUrl }) => (typeUrl.endsWith("RouteConfiguration") ? "80 is odd" : undefined));
    const refused = await run("vs/other");
    expect(refused).toMatchObject({ status: 1, stdout: "" });
    expect(refused.stderr).toContain(
      "other: 0/1 proxies have acknowledged generation 1; a.default refused RDS 80: 80 is odd\n",
    );
    await proxy.answer(() => undefined);
  });

  test.skipIf(lacks("kubectl"))("kubectl waits for the condition", async () => {
    await world.create(route("later", "later.example.com", "web"));
    const args = ["wait", "--for=condition=Programmed", "vs/web", "vs/later", "--timeout=20s"];
    const { stdout } = await promisify(execFile)("kubectl", [...args, "--kubeconfig", world.api.kubeconfig]);
    expect(stdout).toContain("virtualservice.networking.istio.io/later condition met");
  });

  test.each([
    [["web"], "what to wait for is named as TYPE/NAME"],
    [["vs/web", "--for=ready"], "--for=ready is not known"],
    [["vs/web", "--timeout", "soon"], "--timeout soon is not a duration"],
    [["vs/none"], "not found"],
    [["things/web"], 'the API has no resource type "things"'],
    [["svc/web"], "proxies are sent nothing for a Service"],
  ])("%j is answered with the cause", async (args, cause) => {
    const { status, stderr } = await run(...args);
    expect(status).toBeGreaterThan(0);
    expect(stderr).toContain(cause);
  });
});
