import { join } from "node:path";
import { expect, test } from "vitest";
import { createKubeClient, loadKubeconfig } from "../../kube/index.ts";
import { createLogger } from "../../lib/index.ts";
import { startControlledApi } from "../controllers/testing.ts";
import { watchedKind } from "../watched-kinds.ts";
import { runProgrammedStatus } from "./status.ts";

test("a kind whose statuses may not be written is told of once, and left alone", async () => {
  const world = await startControlledApi();
  const file = join(world.api.dir, "nobody");
  await world.api.server.writeKubeconfig(file, { user: "nobody" });
  const client = createKubeClient(await loadKubeconfig({ paths: [file], env: {} }));
  const told: string[] = [];
  const warned = Promise.withResolvers<void>();
  const asked: string[] = [];
  const objects = world.objects("networking.istio.io", "VirtualService");
  try {
    for (const name of ["a", "b", "c"])
      await world.create({
        apiVersion: "networking.istio.io/v1",
        kind: "VirtualService",
        metadata: { name, namespace: "default" },
        spec: { hosts: [name], http: [{ directResponse: { status: 200 } }] },
      });
    await world.until("networking.istio.io", "VirtualService", "default/c", (one) => one !== undefined);
    const begun: ((id: string) => void)[] = [];
    runProgrammedStatus({
      client,
      kinds: new Map([["VirtualService", { ref: watchedKind("networking.istio.io", "VirtualService"), objects }]]),
      replicas: () => 1,
      programmed: {
        async of(_kind, key) {
          asked.push(key);
          const { generation } = objects.get(key)?.metadata ?? {};
          return { generation, isMade: true, affected: 1, acknowledged: 1, refusing: [], waiting: [] };
        },
        moves: "",
        subscribe(listener) {
          begun.push(listener);
          return () => {};
        },
      },
      refusals: { byObject: () => new Map<string, never>(), subscribe: () => () => {} },
      now: () => new Date(0),
      random: () => 0.5,
      log: createLogger({
        now: () => new Date(0),
        write(line) {
          told.push(line);
          warned.resolve();
        },
      }),
      signal: world.stop.signal,
      times: { lookMs: 10 },
    });
    await warned.promise;
    await expect.poll(() => new Set(asked).size, { timeout: 10_000 }).toBe(3);
    expect(told).toHaveLength(1);
    expect(told[0]).toContain("virtualservices/status of networking.istio.io may not be written");
    const before = asked.length;
    for (const begin of begun) begin("VirtualService/default/a");
    expect(asked).toHaveLength(before);
  } finally {
    client.close();
    await world.close();
  }
});
