/** A real Envoy in a network namespace that is named as a Pod's; its admin port is asked from outside. */
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findEnvoy, lacks } from "../../../test/require.ts";
import { planNetwork, podNetworkPath } from "../../standalone/index.ts";
import { viewClusters } from "./cluster.ts";
import { parseDump } from "./dump.ts";
import { viewEndpoints } from "./endpoint.ts";
import { type AskAdmin, reachEnvoy } from "./envoy-admin.ts";
import { createProtoJson } from "./proto-json.ts";

const bootstrap = {
  admin: { address: { socket_address: { address: "127.0.0.1", port_value: 15000 } } },
  static_resources: {
    clusters: [
      {
        name: "outbound|80||web.shop.svc.cluster.local",
        type: "STATIC",
        load_assignment: {
          cluster_name: "web",
          endpoints: [
            { lb_endpoints: [{ endpoint: { address: { socket_address: { address: "10.9.9.9", port_value: 80 } } } }] },
          ],
        },
      },
    ],
  },
};

describe.skipIf(lacks("root", "envoy"))("the admin port of a Pod's Envoy", () => {
  const dataDir = realpathSync(mkdtempSync(join(tmpdir(), "fairlead-admin-")));
  const pod = { name: "web", namespace: "shop", uid: `test-${process.pid}` };
  const namespace = podNetworkPath(planNetwork({ dataDir }), pod.uid);
  const undo: (() => void)[] = [() => rmSync(dataDir, { recursive: true, force: true })];
  let ask: AskAdmin;

  beforeAll(async () => {
    execFileSync("ip", ["netns", "add", basename(namespace)]);
    undo.push(() => execFileSync("ip", ["netns", "del", basename(namespace)]));
    execFileSync("ip", ["-n", basename(namespace), "link", "set", "lo", "up"]);
    writeFileSync(join(dataDir, "envoy.json"), JSON.stringify(bootstrap));
    const envoy = spawn(
      "ip",
      [
        "netns",
        "exec",
        basename(namespace),
        findEnvoy() ?? "",
        "-c",
        join(dataDir, "envoy.json"),
        "--concurrency",
        "1",
      ],
      { stdio: ["ignore", "ignore", "pipe"] },
    );
    undo.push(() => envoy.kill("SIGKILL"));
    await new Promise<void>((resolve, reject) => {
      envoy.stderr.on("data", (chunk: Buffer) => chunk.includes("starting main dispatch loop") && resolve());
      envoy.on("exit", (code) => reject(new Error(`Envoy ended with ${code}`)));
    });
    const reached = reachEnvoy(dataDir, pod, 15000, AbortSignal.timeout(60_000));
    if ("why" in reached) throw new Error(reached.why);
    ask = reached.ask;
  }, 300_000);
  afterAll(() => {
    for (const step of undo.reverse()) step();
  });

  test("gives its dump and its endpoints, which print as tables", async () => {
    const protos = await createProtoJson();
    const dump = parseDump(await ask("GET", "config_dump?include_eds=true"), protos);
    expect(viewClusters(dump, {}).short("alone")).toContain(
      "web.shop.svc.cluster.local     80       -          outbound      STATIC",
    );
    const endpoints = viewEndpoints(await ask("GET", "clusters?format=json"), {}, protos).short("alone");
    expect(endpoints.split("\n")[1]).toMatch(/^10\.9\.9\.9:80 +HEALTHY +OK +outbound\|80\|\|web/);
  });

  test("takes levels of loggers", async () => {
    expect(await ask("POST", "logging?http=debug")).toMatch(/^ *http: debug$/m);
  });

  test("what it refuses is told with the Pod's name", async () => {
    await expect(ask("GET", "no-such-path")).rejects.toThrow("Envoy of shop/web");
  });
});

test("a Pod of elsewhere cannot be asked, and it is said why", () => {
  const dataDir = realpathSync(tmpdir());
  const signal = AbortSignal.timeout(1_000);
  const why = (uid: string | undefined, dir = dataDir): unknown =>
    reachEnvoy(dir, { name: "web", namespace: "shop", uid }, 15000, signal);
  expect(why("no-such-pod")).toEqual({ why: "Pod shop/web does not run on this machine" });
  expect(why(undefined)).toEqual({ why: "Pod shop/web is not known to the API" });
  expect(why("x", join(dataDir, "no-such-mesh"))).toEqual({ why: expect.stringContaining("no standalone mesh") });
});
