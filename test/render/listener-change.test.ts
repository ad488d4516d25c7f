/** A change makes again only the listeners, and of them only the chains, that read what changed. */
import { describe, expect, test } from "vitest";
import { createOffline } from "../../src/control-plane/index.ts";
import { type KubeObject, types } from "../../src/model/index.ts";
import { createRenderer, createRendering } from "../../src/render/index.ts";
import { istio, service, smallMesh } from "./objects.ts";

const tcp = Array.from({ length: 20 }, (_, i) =>
  service(`s${i}`, { portName: "tcp", port: 9000, spec: { clusterIP: `10.97.0.${i}` } }),
);
const route = (name: string, spec: Readonly<Record<string, unknown>>): KubeObject =>
  istio("VirtualService", name, spec);

function start(objects: readonly KubeObject[]) {
  const offline = createOffline({ objects: [...smallMesh(), ...tcp, ...objects] });
  const [proxy] = offline.proxies();
  if (!proxy) throw new Error("no proxy");
  const renderer = createRenderer(offline.mesh, offline.classOf(proxy));
  renderer.all(types.listener);
  renderer.refresh();
  const change = (object: KubeObject) => {
    const before = renderer.rendered;
    offline.source.apply([object]);
    const changed = renderer.refresh();
    return { changed: changed.has(types.listener), rendered: renderer.rendered - before };
  };
  return { change };
}

describe("a change of", () => {
  test("an HTTP route touches no listener", () => {
    const http = (timeout: string) =>
      route("v", { hosts: ["web"], http: [{ timeout, route: [{ destination: { host: "web" } }] }] });
    const { change } = start([http("1s")]);
    expect(change(http("2s"))).toEqual({ changed: false, rendered: 0 });
  });

  test("a TCP route touches the one listener of its host", () => {
    const to = (subset: string) =>
      route("v", { hosts: ["s3"], tcp: [{ route: [{ destination: { host: "s3", subset } }] }] });
    const { change } = start([to("a")]);
    expect(change(to("b"))).toEqual({ changed: true, rendered: 1 });
  });

  test("a DestinationRule's TCP settings touch the one listener of its host", () => {
    const rule = (idleTimeout: string) =>
      istio("DestinationRule", "r", { host: "s3", trafficPolicy: { connectionPool: { tcp: { idleTimeout } } } });
    const { change } = start([rule("1s")]);
    expect(change(rule("2s"))).toEqual({ changed: true, rendered: 1 });
  });

  test("PeerAuthentication touches the inbound listener alone", () => {
    const peers = (mode: string) => istio("PeerAuthentication", "p", { mtls: { mode } });
    const { change } = start([peers("PERMISSIVE")]);
    expect(change(peers("STRICT"))).toEqual({ changed: true, rendered: 1 });
  });
});

/** What a change leaves behind must be what a fresh start would make: nothing that was captured may stay. */
describe("after a change the listeners are those of a fresh start:", () => {
  const bytes = (objects: readonly KubeObject[], change?: readonly KubeObject[], mesh?: Record<string, unknown>) => {
    const offline = createOffline({ objects, ...(mesh ? { meshConfig: mesh } : {}) });
    const [proxy] = offline.proxies();
    if (!proxy) throw new Error("no proxy");
    const rendering = createRendering(offline.mesh);
    // A change may put the proxy into another class, as a control plane would see.
    const read = () => {
      const renderer = rendering.renderer(offline.classOf(proxy));
      return new Map([...renderer.all(types.listener)].map(([name, { hash }]) => [name, hash]));
    };
    read();
    if (change) offline.source.apply(change);
    return read();
  };
  const meshConfig = (port: number): KubeObject => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "istio", namespace: "istio-system" },
    data: { mesh: `proxyInboundListenPort: ${port}\n` },
  });

  test("a Sidecar takes a TCP VirtualService out of sight", () => {
    const objects = [
      ...smallMesh(),
      ...tcp,
      route("v", { hosts: ["s3"], tcp: [{ route: [{ destination: { host: "s4" } }] }] }),
    ];
    const sidecar = istio("Sidecar", "narrow", {
      egress: [{ port: { number: 9000, protocol: "TCP", name: "tcp" }, hosts: ["./s3.default.svc.cluster.local"] }],
    });
    expect(bytes(objects, [sidecar])).toEqual(bytes([...objects, sidecar]));
  });

  test("the inbound port moves", () => {
    const objects = [...smallMesh(), meshConfig(15006)];
    expect(bytes(objects, [meshConfig(15066)])).toEqual(bytes([...smallMesh(), meshConfig(15066)]));
  });
});
