/** One Fairlead for another under traffic, on the embedded API: in its place, and beside it by revision, there and back. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApi, type TestApi } from "../../src/apiserver/testing.ts";
import { runCli } from "../../src/cli/testing.ts";
import { loadKubeconfig } from "../../src/kube/index.ts";
import { lacks } from "../require.ts";
import type { Fleet } from "./fleet.ts";
import { fairleadPlane, type Plane } from "./plane.ts";
import { swapByRevision, swapInPlace, untilInjecting } from "./scenario.ts";
import { createSwapWorld, type SwapWorld } from "./world.ts";

describe.skipIf(lacks("root", "envoy", "iptables"))("a control plane is changed under traffic", () => {
  const services = new Map<string, string>();
  let api: TestApi;
  let world: SwapWorld;
  let fleet: Fleet;
  let plane: Plane;
  const install = async (...args: readonly string[]): Promise<void> => {
    const done = await runCli(["install", "--no-wait", ...args], api.dir, 60_000, { KUBECONFIG: api.kubeconfig });
    expect(done).toMatchObject({ status: 0 });
  };

  beforeAll(async () => {
    api = await startApi({
      resolveService: ({ name }) => ({ host: services.get(name) ?? "127.0.0.1", port: 443 }),
    });
    const access = await loadKubeconfig({ paths: [api.kubeconfig], env: {} });
    world = await createSwapWorld({ access, onService: (name, address) => services.set(name, address) });
    await install();
    plane = await world.start(fairleadPlane, "default");
    await world.point("default", plane);
    await untilInjecting(world, "default");
    fleet = await world.populate("default");
  }, 600_000);
  afterAll(async () => {
    await world?.close();
    await api?.close();
  }, 120_000);

  test("in its place: no request and no Pod fails, and certificates stay", { timeout: 600_000 }, async () => {
    const report = await swapInPlace(world, fleet, "default", plane, fairleadPlane);
    plane = report.plane;
    expect(report).toMatchObject({ failures: [], certificatesKept: true });
    expect(report.requests).toBeGreaterThan(500);
    expect(report.pods).toBeGreaterThan(5);
  });

  test("by revision, there and back: no request and no Pod fails", { timeout: 600_000 }, async () => {
    await install("--revision", "next");
    const next = await world.start(fairleadPlane, "next");
    const there = await swapByRevision(world, fleet, "next", next);
    expect(there.failures).toEqual([]);
    const back = await swapByRevision(world, fleet, "default", plane);
    expect(back.failures).toEqual([]);
    expect(there.requests + back.requests).toBeGreaterThan(1000);
  });
});
