/** Keys from a real server to the listener: they arrive, stay while the server is away, and change when it says so. */
import { afterEach, expect, test } from "vitest";
import { createGraph } from "../../src/collections/index.ts";
import { createStages } from "../../src/control-plane/stages.ts";
import { watchObjects } from "../../src/control-plane/watched-kinds.ts";
import { createHttpClient, createJwksResolver, type JwksResolver } from "../../src/fetch/index.ts";
import { json, startServer, type TestServer } from "../../src/fetch/testing.ts";
import { createMemorySource } from "../../src/kube/index.ts";
import { createAddressGuard, silentLogger } from "../../src/lib/index.ts";
import { bytesOf, types } from "../../src/model/index.ts";
import { createJsonPrinter, createRenderer } from "../../src/render/index.ts";
import { pod, service, slice } from "./objects.ts";

const key = (kid: string) => ({ kty: "oct", kid, k: "c2VjcmV0LXNlY3JldA" });

let server: TestServer | undefined;
const stop = new AbortController();
afterEach(async () => {
  stop.abort();
  await server?.close();
});

test("keys reach the listener", async () => {
  const print = createJsonPrinter();
  server = await startServer();
  server.answer("/jwks", json({ keys: [key("first")] }));
  const graph = createGraph();
  const source = createMemorySource({
    graph,
    objects: [
      pod("web", { proxy: "sidecar" }),
      service("web"),
      slice("web", [{ address: "10.0.0.1", pod: "web" }]),
      {
        apiVersion: "security.istio.io/v1",
        kind: "RequestAuthentication",
        metadata: { name: "tokens", namespace: "default" },
        spec: { jwtRules: [{ issuer: "i", jwksUri: `${server.url}/jwks` }] },
      },
    ],
  });
  let resolver: JwksResolver | undefined;
  let goOn = Promise.withResolvers<void>();
  let waiting = Promise.withResolvers<void>();
  const stages = createStages({
    graph,
    objects: watchObjects(source).objects,
    domain: "cluster.local",
    cluster: "Kubernetes",
    configMap: "istio-system/istio",
    fetchKeySets: (requestAuthentications) => {
      resolver = createJwksResolver({
        graph,
        client: createHttpClient({ guard: createAddressGuard() }),
        requestAuthentications,
        log: silentLogger,
        monotonicMs: () => 0,
        random: () => 0,
        signal: stop.signal,
        waitMs: () => {
          waiting.resolve();
          return goOn.promise;
        },
      });
      return resolver.keySets;
    },
  });
  const [proxy] = stages.podProxies();
  if (!proxy) throw new Error("no proxy");
  let told = 0;
  const renderer = createRenderer(stages.mesh, stages.classOf(proxy), { onInvalidate: () => told++ });
  const listener = (): string =>
    JSON.stringify(print(types.listener, bytesOf(renderer.get(types.listener, "virtualInbound") ?? { pieces: [] })));
  const nextRound = async (): Promise<void> => {
    const last = goOn;
    [goOn, waiting] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    last.resolve();
    await waiting.promise;
  };

  expect(listener()).toContain('"inlineString":""');
  await resolver?.settled();
  await waiting.promise;
  expect(told).toBeGreaterThan(0);
  renderer.refresh();
  expect(listener()).toContain("first");

  server.answer("/jwks", (request) => request.socket.destroy());
  await nextRound();
  renderer.refresh();
  expect(listener()).toContain("first");

  server.answer("/jwks", json({ keys: [key("second")] }));
  await nextRound();
  renderer.refresh();
  expect(listener()).toContain("second");
  expect(listener()).not.toContain("first");
});
