/** Names that proxies ask for beyond what is listed for them: however many and however long, what is kept is bounded. */
import { expect, test } from "vitest";
import { createOffline } from "../../src/control-plane/index.ts";
import { type ResourceType, types } from "../../src/model/index.ts";
import { createRenderer, type Renderer } from "../../src/render/index.ts";
import { pod, service } from "./objects.ts";

const offline = createOffline({
  objects: [service("web"), pod("web", { proxy: "sidecar", address: "10.0.0.9", labels: { app: "web" } })],
});

function grpcClient(): Renderer {
  const [proxy] = offline.proxies();
  if (!proxy) throw new Error("no proxy");
  return createRenderer(offline.mesh, offline.classOf({ ...proxy, profile: "grpc" }));
}

test.each<[ResourceType, (n: number) => string]>([
  [types.route, (n) => `outbound|80||none-${n}.example`],
  [types.listener, (n) => `xds.istio.io/grpc/lds/inbound/host-${n}:80`],
])("of %s", (type, nameOf) => {
  const renderer = grpcClient();
  const before = offline.mesh.graph.entries;
  const ask = (count: number, from: number): number => {
    for (let n = from; n < from + count; n++) {
      renderer.follow(type, nameOf(n));
      renderer.get(type, nameOf(n));
    }
    return offline.mesh.graph.entries - before;
  };
  const once = ask(30_000, 0);
  expect(ask(30_000, 30_000)).toBeLessThan(once * 1.2);
  renderer.dispose();
});

test("a name that is longer than any is of nothing", () => {
  const renderer = grpcClient();
  const before = offline.mesh.graph.entries;
  for (let n = 0; n < 100; n++) {
    const long = `${n}`.padStart(10_000, "x");
    expect(renderer.get(types.route, `outbound|80||${long}`)).toBeUndefined();
    expect(renderer.get(types.listener, `xds.istio.io/grpc/lds/inbound/${long}:80`)).toBeUndefined();
  }
  expect(offline.mesh.graph.entries - before).toBeLessThan(10);
  renderer.dispose();
});
