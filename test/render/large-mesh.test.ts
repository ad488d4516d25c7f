/** Whatever a client sees of a mesh with many services, what it has is made in small steps. */
import { expect, test } from "vitest";
import { createOffline } from "../../src/control-plane/index.ts";
import { type KubeObject, types } from "../../src/model/index.ts";
import { createRendering } from "../../src/render/index.ts";
import { istio, pod, service } from "./objects.ts";

const size = 200;
const services = Array.from({ length: size }, (_, i) =>
  service(`web-${i}`, { portName: i % 2 === 0 ? "http" : "tcp", spec: { clusterIP: `10.2.0.${i + 1}` } }),
);
const ownRule = istio("DestinationRule", "own", {
  host: "*.cluster.local",
  exportTo: ["."],
  trafficPolicy: { loadBalancer: { consistentHash: { httpHeaderName: "x" } } },
});

test.each<[string, readonly KubeObject[]]>([
  ["sees what everybody sees", []],
  ["has a rule of its own for each service", [ownRule]],
  ["has a Sidecar", [istio("Sidecar", "own", { egress: [{ hosts: ["*/*"] }] })]],
])("no step makes many parts where the client %s", (_what, more) => {
  const offline = createOffline({ objects: [pod("client", { proxy: "sidecar" }), ...services, ...more] });
  const [proxy] = offline.proxies();
  if (!proxy) throw new Error("no proxy");
  const rendering = createRendering(offline.mesh);
  const renderer = rendering.renderer(offline.classOf(proxy));
  const made = (): number => rendering.counts.values().reduce((sum, { computed }) => sum + computed, 0);
  const steps = renderer.steps();
  let most = 0;
  for (let before = 0, done: boolean | undefined; !done; before = made()) {
    done = steps.next().done;
    most = Math.max(most, made() - before);
  }
  expect(renderer.set(types.cluster).size).toBeGreaterThan(size);
  expect(most).toBeLessThan(size / 4);
});
