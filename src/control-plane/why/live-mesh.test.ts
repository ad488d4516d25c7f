/** A question about two proxies does not keep ten thousand others waiting. */
import { expect, test } from "vitest";
import { connectedSteps } from "./live-mesh.ts";

const locality = { region: "", zone: "", subZone: "" };
const facts = { cluster: "", metadata: {}, locality, extensions: new Set<string>(), userAgent: "" };

test("connected proxies are looked at in steps, those that only ask left out", () => {
  const connected = Array.from({ length: 10_000 }, (_, i) => ({
    connectionId: `c${i}`,
    node: { ...facts, id: `sidecar~10.0.0.1~p${i}.shop~shop.svc.cluster.local` },
    follows: i % 10 !== 0,
  }));
  const work = connectedSteps({
    ads: { connected: () => connected.values() },
    stages: { registry: { pods: new Map() } },
  });
  for (let steps = 1; ; steps++) {
    const { done, value } = work.next();
    if (!done) continue;
    expect([value.size, value.has("p1.shop"), value.has("p10.shop")]).toEqual([9_000, true, false]);
    expect(steps).toBeGreaterThan(10);
    break;
  }
});
