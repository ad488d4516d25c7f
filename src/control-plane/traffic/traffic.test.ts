import { expect, test } from "vitest";
import { silentLogger } from "../../lib/index.ts";
import { createMetrics } from "../../ops/index.ts";
import { createTraffic } from "./traffic.ts";

test("who looks at live requests is counted for as long as they do", async () => {
  const metrics = createMetrics();
  const { taps } = createTraffic({
    ...{ registry: { workloadAt: () => undefined }, namespace: "istio-system", metrics, log: silentLogger },
    ...{ now: () => new Date(), monotonicMs: () => 0 },
  });
  const tap = taps.open({});
  expect(await metrics.text()).toMatch(/^fairlead_traffic_taps 1$/m);
  tap.close();
  expect(await metrics.text()).toMatch(/^fairlead_traffic_taps 0$/m);
});
