import { expect, test } from "vitest";
import { startServer } from "../../fetch/testing.ts";
import { silentLogger } from "../../lib/index.ts";
import { createMetrics } from "../../ops/index.ts";
import { followApi } from "./api.ts";

test("an API that cannot be read is counted", async () => {
  const server = await startServer();
  await server.close();
  const metrics = createMetrics();
  const api = followApi(
    {
      access: {
        ...{ server: `https://127.0.0.1:${server.port}`, ca: undefined, insecure: true, serverName: undefined },
        ...{ namespace: "default", credentials: async () => ({}) },
      },
      ...{ cluster: "Kubernetes", identity: "istiod-test", namespace: "istio-system" },
      ...{ log: silentLogger, now: () => new Date(), random: () => 0 },
    },
    metrics,
  );
  expect(await metrics.text()).toMatch(/^controller_sync_errors_total\{cluster="Kubernetes"\} 0$/m);
  api.watched.objects("", "Pod");
  await expect.poll(metrics.text).toMatch(/^controller_sync_errors_total\{cluster="Kubernetes"\} [1-9]/m);
  api.close();
});
