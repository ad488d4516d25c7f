import { afterAll, beforeAll, expect, test } from "vitest";
import { silentLogger } from "../../lib/index.ts";
import { createMetrics } from "../../ops/index.ts";
import type { ProxyNode } from "../../xds/index.ts";
import { type ControlledApi, startControlledApi } from "../controllers/testing.ts";
import { createRecords } from "./records.ts";

let world: ControlledApi;
beforeAll(async () => {
  world = await startControlledApi();
});
afterAll(() => world.close());

const node: ProxyNode = {
  ...{ id: "sidecar~10.0.0.1~vm.default~default.svc.cluster.local", cluster: "", userAgent: "" },
  metadata: { NAMESPACE: "default", AUTO_REGISTER_GROUP: "db", INSTANCE_IPS: "10.0.0.1" },
  ...{ locality: { region: "", zone: "", subZone: "" }, extensions: new Set() },
};
const identity = { trustDomain: "cluster.local", namespace: "default", serviceAccount: "default" };

test("registrations are counted by what becomes of them", async () => {
  const metrics = createMetrics();
  let now = new Date("2026-01-01T00:00:00Z");
  const pass = (ms: number): Date => {
    now = new Date(now.getTime() + ms);
    return now;
  };
  const records = createRecords({
    ...{ client: world.client, controller: "here", metrics, validateIdentity: true, log: silentLogger },
    ...{ ages: { graceMs: 1000, maxSilenceMs: 60_000 }, now: () => now, signal: world.stop.signal },
  });
  const counted = async (name: string): Promise<string | undefined> =>
    new RegExp(`^${name} (\\d+)$`, "m").exec(await metrics.text())?.[1];
  const ref = { namespace: "default", name: "db-10.0.0.1", group: "db" };
  const come = (): Promise<boolean> => records.connected({ ref, node, identity, since: now });

  await expect(come()).rejects.toThrow("cannot find WorkloadGroup default/db");
  expect(await counted("auto_registration_errors_total")).toBe("1");
  await world.create({
    ...{ apiVersion: "networking.istio.io/v1", kind: "WorkloadGroup", metadata: { name: "db", namespace: "default" } },
    spec: { template: { serviceAccount: "default" } },
  });
  await come();
  expect(await counted("auto_registration_success_total")).toBe("1");
  expect(await counted("auto_registration_updates_total")).toBe("0");
  const connected = now;
  await records.disconnected(ref, { connected, left: pass(100) });
  expect(await counted("auto_registration_unregister_total")).toBe("1");
  pass(100);
  await come();
  expect(await counted("auto_registration_updates_total")).toBe("1");
  const again = now;
  await records.disconnected(ref, { connected: again, left: pass(100) });
  await records.cleanUp(ref);
  expect(await counted("auto_registration_deletes_total")).toBe("0");
  pass(1000);
  await records.cleanUp(ref);
  expect(await counted("auto_registration_deletes_total")).toBe("1");
  expect(await counted("auto_registration_unregister_total")).toBe("2");
  expect(await counted("auto_registration_errors_total")).toBe("1");
});
