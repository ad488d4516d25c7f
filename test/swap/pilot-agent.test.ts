/**
 * Istio's own agent, unmodified, with a stock Envoy in a mesh of Fairlead: certificates are renewed, the control plane is
 * changed and the root is rotated under traffic. Needs PILOT_AGENT (the program) and ISTIO_BOOTSTRAP (the template of
 * Envoy's bootstrap that its image has); left out of the suite where PILOT_AGENT is not named.
 */
import { existsSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApi, type TestApi } from "../../src/apiserver/testing.ts";
import { runCli } from "../../src/cli/testing.ts";
import { kubeKinds, loadKubeconfig } from "../../src/kube/index.ts";
import { readRecord, readText } from "../../src/lib/index.ts";
import { lacks } from "../require.ts";
import { eventually } from "../traffic/mesh.ts";
import type { Fleet } from "./fleet.ts";
import { fairleadPlane, type Plane } from "./plane.ts";
import { swapInPlace, untilInjecting } from "./scenario.ts";
import { pilotAgent } from "./workload.ts";
import { createSwapWorld, type SwapWorld } from "./world.ts";

const { PILOT_AGENT = "", ISTIO_BOOTSTRAP = "" } = process.env;
const isNamed = existsSync(PILOT_AGENT) && existsSync(ISTIO_BOOTSTRAP);
/** Fast, as no kubelet has to bring files. */
const quick = {
  ...{ FAIRLEAD_ROOT_ROTATION_STEP: "1s", FAIRLEAD_ROOT_ROTATION_RECONNECT: "1s", FAIRLEAD_ROOT_FILE_LAG: "1s" },
};
const program = { ...fairleadPlane, env: quick };
const minutes = 60_000;

describe.skipIf(!isNamed || lacks("root", "envoy", "iptables"))("an unmodified pilot-agent", () => {
  const services = new Map<string, string>();
  let api: TestApi;
  let world: SwapWorld;
  let fleet: Fleet;
  let plane: Plane;
  const cli = async (...args: readonly string[]): Promise<void> => {
    const done = await runCli(args, api.dir, 10 * minutes, { KUBECONFIG: api.kubeconfig });
    expect(done.status, done.stderr).toBe(0);
  };
  const serials = (): Promise<readonly string[]> => Promise.all(fleet.pods().map((pod) => pod.certificate()));
  const renewed = async (): Promise<void> => {
    const before = await serials();
    const all = async (): Promise<boolean> => (await serials()).every((serial, i) => serial !== before[i]);
    await eventually(all, "all certificates to be renewed", 3 * minutes);
  };

  beforeAll(async () => {
    api = await startApi({ resolveService: ({ name }) => ({ host: services.get(name) ?? "127.0.0.1", port: 443 }) });
    const access = await loadKubeconfig({ paths: [api.kubeconfig], env: {} });
    world = await createSwapWorld({ access, onService: (name, address) => services.set(name, address) });
    await cli("install", "--no-wait");
    plane = await world.start(program, "default");
    await world.point("default", plane);
    await untilInjecting(world, "default");
    const life = { SECRET_TTL: "20s", PROXY_CONFIG_XDS_AGENT: "true" };
    fleet = await world.populate("default", [pilotAgent(PILOT_AGENT, ISTIO_BOOTSTRAP, life)]);
  }, 10 * minutes);
  afterAll(async () => {
    await world?.close();
    await api?.close();
  }, 2 * minutes);

  test("renews its certificate again and again", { timeout: 10 * minutes }, async () => {
    for (let i = 0; i < 5; i++) await renewed();
    const { requests, failures } = await fleet.traffic.take();
    expect(failures).toEqual([]);
    expect(requests).toBeGreaterThan(500);
  });

  test("goes over to another control plane", { timeout: 10 * minutes }, async () => {
    const report = await swapInPlace(world, fleet, "default", plane, program);
    plane = report.plane;
    // How Pods fare meanwhile is another test's.
    expect(report.failures.filter((line) => !/ Pod \S+: /.test(line))).toEqual([]);
    await renewed();
  });

  test("follows a rotation of the root", { timeout: 10 * minutes }, async () => {
    const root = async (): Promise<string> => {
      const ref = { name: "istio-ca-root-cert", namespace: "default" };
      return readText(readRecord((await world.client.get(kubeKinds.configMaps, ref)).data)["root-cert.pem"]);
    };
    const before = await root();
    await cli("ca", "rotate-root");
    const count = (pem: string): number => pem.split("BEGIN CERTIFICATE").length - 1;
    await eventually(async () => count(await root()) === 1 && (await root()) !== before, "the old root to go", minutes);
    await renewed();
    const { requests, failures } = await fleet.traffic.take();
    expect(failures).toEqual([]);
    expect(requests).toBeGreaterThan(500);
  });
});
