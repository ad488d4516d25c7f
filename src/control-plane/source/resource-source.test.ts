import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createGraph } from "../../collections/index.ts";
import { createMemorySource } from "../../kube/index.ts";
import { FairleadError } from "../../lib/index.ts";
import { type Proxy, types } from "../../model/index.ts";
import { createRendering } from "../../render/index.ts";
import type { ProxyNode, ProxySession } from "../../xds/index.ts";
import { proxyOfNode } from "../proxy-of-node.ts";
import { createStages } from "../stages.ts";
import { watchObjects } from "../watched-kinds.ts";
import { type ControlledSource, createResourceSource } from "./resource-source.ts";
import type { SetMove } from "./set-moves.ts";

const domain = "cluster.local";
const cluster = "Kubernetes";

const node = (name: string, type = "sidecar"): ProxyNode => ({
  id: `${type}~10.0.0.1~${name}.default~default.svc.${domain}`,
  cluster: "",
  metadata: { NAMESPACE: "default", LABELS: { app: name } },
  locality: { region: "", zone: "", subZone: "" },
  extensions: new Set(),
  userAgent: "",
});

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

function start() {
  const graph = createGraph();
  const api = createMemorySource({ graph, objects: [] });
  const stages = createStages({
    graph,
    objects: watchObjects(api).objects,
    domain,
    cluster,
    configMap: "istio-system/istio",
  });
  const context = { mesh: stages.mesh, registry: stages.registry, domain, cluster };
  const faults: string[] = [];
  let broken = (_proxy: Proxy): boolean => false;
  let closed = false;
  let pushing = (): void => {};
  let telling = (): void => {};
  const source = createResourceSource({
    mesh: stages.mesh,
    proxyOf(from, identity) {
      const proxy = proxyOfNode(from, context, identity);
      if (broken(proxy)) throw new Error("a fault of ours");
      return proxy;
    },
    classOf: stages.classOf,
    admit() {
      if (closed) throw new Error("nobody is let in");
      return () => {};
    },
    debounceMs: 1,
    debounceMaxMs: 10,
    onPush: () => pushing(),
    onFault(_proxy, { error }) {
      faults.push(error instanceof Error ? error.message : String(error));
      telling();
    },
  });
  closing.push(() => source.close());
  const service = (name: string) =>
    api.apply([
      {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name, namespace: "default", resourceVersion: name, uid: name },
        spec: { clusterIP: "10.1.0.1", ports: [{ name: "http", port: 80 }], selector: { app: name } },
      },
      {
        apiVersion: "v1",
        kind: "Pod",
        metadata: {
          name,
          namespace: "default",
          resourceVersion: name,
          uid: `pod-${name}`,
          labels: { app: name, "topology.istio.io/network": "n" },
        },
        spec: {},
        status: { podIP: "10.0.0.1" },
      },
    ]);
  return {
    api,
    letIn(yes: boolean) {
      closed = !yes;
    },
    source,
    faults,
    service,
    sweep: graph.sweep,
    version: () => graph.version,
    /** How much is kept. */
    entries() {
      for (let pass = 0; pass < 3; pass++) graph.sweep();
      return graph.entries;
    },
    rendererOf(...names: readonly string[]) {
      const rendering = createRendering(stages.mesh);
      const classes = names.map((name) => stages.classOf(proxyOfNode(node(name), context, undefined)));
      return { rendering, renderers: classes.map((one) => rendering.renderer(one)) };
    },
    classOf: (from: ProxyNode) => stages.classOf(proxyOfNode(from, context, undefined)),
    onFault(then: () => void) {
      telling = then;
    },
    onPush(then: () => void) {
      pushing = then;
    },
    fail: (when: typeof broken) => {
      broken = when;
    },
  };
}

test("a fault while one proxy is classified again leaves the others served", async () => {
  const { source, faults, service, fail } = start();
  const told: string[] = [];
  const sessions = ["a", "b"].map((name) => source.connect(node(name), undefined, () => told.push(name)));
  for (const session of sessions) session.all(types.cluster);
  fail((proxy) => proxy.name === "a");
  service("a");
  service("b");
  await source.flush();
  expect(faults).toContain("a fault of ours");
  expect(told).toContain("b");
  fail(() => false);
  service("c");
  await source.flush();
  expect(sessions[0]?.all(types.cluster).get("outbound|80||c.default.svc.cluster.local")).toBeDefined();
});

test("proxies that are classified again, each for longer than a slice, have a turn of the event loop each", async () => {
  const { source, service, fail } = start();
  const names = ["a", "b", "c", "d"];
  for (const name of names) source.connect(node(name), undefined, () => {}).all(types.cluster);
  let turn = 0;
  let next = setImmediate(function count() {
    turn++;
    next = setImmediate(count);
  });
  closing.push(() => clearImmediate(next));
  const turns: number[] = [];
  fail(() => {
    turns.push(turn);
    for (const endMs = performance.now() + 10; performance.now() < endMs; );
    return false;
  });
  for (const name of names) service(name);
  await source.flush();
  expect(turns.length).toBeGreaterThanOrEqual(names.length);
  expect(new Set(turns).size).toBe(turns.length);
});

test("a class that a proxy could not move to leaves nothing behind", async () => {
  const { source, service, faults } = start();
  source.followMoves({
    wants: () => true,
    moved() {
      throw new Error("cannot tell of a move");
    },
  });
  const session = source.connect(node("a"), undefined, () => {});
  session.all(types.cluster);
  service("a");
  await source.flush();
  expect(new Set(faults)).toEqual(new Set(["cannot tell of a move"]));
  expect(source.classes).toBe(1);
  session.close();
  expect(source.classes).toBe(0);
});

test.each([
  ["little is made for", 0],
  ["more is made for than fits in a slice", 300],
])("a proxy that goes to another class that %s is told of once, with what it had and has", async (_, services) => {
  const { source, service } = start();
  for (let i = 0; i < services; i++) service(`s${i}`);
  const [goes, stays] = [node("a"), node("b")];
  const sessions = [goes, stays].map((one) => source.connect(one, undefined, () => {}));
  await Promise.all(sessions.map(({ ready }) => ready));
  for (const session of sessions) session.all(types.listener);
  const before = source.rendererOf(goes)?.set(types.listener);
  const told: SetMove[] = [];
  source.followMoves({
    wants: () => true,
    moved: (move) => move.type === types.listener && told.push(move),
  });
  service("a");
  await source.flush();
  // The class that it leaves is told of too: with both proxies before it has gone, with the other one alone after that.
  const now = source.rendererOf(goes)?.set(types.listener);
  const own = told.filter((move) => move.now === now);
  expect(own.map(({ proxies }) => proxies)).toEqual([1]);
  const news = told.slice(0, told.indexOf(own[0] as SetMove)).at(-1);
  expect(own[0]?.before === (news?.now ?? before)).toBe(true);
});

test("a node that cannot be served leaves nothing behind", () => {
  const { source } = start();
  for (let i = 0; i < 3; i++)
    expect(() => source.connect(node("z", "ztunnel"), undefined, () => {})).toThrow(FairleadError);
  expect(source.classes).toBe(0);
  expect(source.nodes).toBe(0);
});

/** The text by which anything is put into a map meanwhile. */
function keysOfMaps(run: () => void): readonly string[] {
  const put = vi.spyOn(Map.prototype, "set");
  try {
    run();
    return put.mock.calls.map(([key]) => key).filter((key) => typeof key === "string");
  } finally {
    put.mockRestore();
  }
}

test("proxies that say very long things of themselves, each another, are not compared with all others", () => {
  const { source } = start();
  const long = "x".repeat(100_000);
  const keys = keysOfMaps(() => {
    const sessions = [1000, 1001].map((end) => {
      const { metadata, ...rest } = node("a");
      return source.connect({ ...rest, metadata: { ...metadata, IDLE_TIMEOUT: `${long}${end}` } }, undefined, () => {});
    });
    expect(source.classes).toBe(2);
    for (const session of sessions) session.close();
  });
  expect(keys.length).toBeGreaterThan(100);
  // V8 hashes longer text by its length alone: a map of many as long compares each with all.
  expect(Math.max(...keys.map((key) => key.length))).toBeLessThan(16_384);
});

test("a proxy that is not let in leaves nothing behind, and takes nothing from others of its class", () => {
  const { source, letIn } = start();
  letIn(false);
  expect(() => source.connect(node("a"), undefined, () => {})).toThrow("nobody is let in");
  expect([source.classes, source.nodes]).toEqual([0, 0]);
  letIn(true);
  const session = source.connect(node("a"), undefined, () => {});
  letIn(false);
  expect(() => source.connect(node("a"), undefined, () => {})).toThrow("nobody is let in");
  expect([source.classes, source.nodes]).toEqual([1, 1]);
  expect(session.all(types.listener).size).toBeGreaterThan(0);
});

test("a proxy moves to a class that another one has left while it was made", async () => {
  const { source, service } = start();
  for (let i = 0; i < 3; i++) service(`s${i}`);
  const session = source.connect(node("a"), undefined, () => {});
  await session.ready;
  session.all(types.cluster);
  service("a");
  const moved = source.flush();
  const other = source.connect(node("a"), undefined, () => {});
  other.close();
  await moved;
  service("late");
  await source.flush();
  expect(session.all(types.cluster).get("outbound|80||late.default.svc.cluster.local")).toBeDefined();
});

test("proxies that come at once and go before their turn leave nothing behind", async () => {
  const { source, faults, service } = start();
  for (let i = 0; i < 200; i++) service(`s${i}`);
  const of = (namespace: string): ProxyNode => ({ ...node("a"), metadata: { NAMESPACE: namespace } });
  const sessions = Array.from({ length: 20 }, (_, i) => source.connect(of(`ns${i}`), undefined, () => {}));
  const [first, ...others] = sessions.map(({ ready }) => ready);
  for (const session of sessions) session.close();
  await Promise.all([first, ...others]);
  expect(faults).toEqual([]);
  expect([source.classes, source.nodes, source.facets]).toEqual([0, 0, 0]);
  // Else none had to wait for its turn.
  expect(others.filter((ready) => ready !== undefined).length).toBeGreaterThan(0);
});

test("what was made for a class stays until all of it is, whatever changes meanwhile", () => {
  const { rendererOf, service, sweep } = start();
  for (let i = 0; i < 50; i++) service(`s${i}`);
  const { rendering, renderers } = rendererOf("a");
  const [renderer] = renderers;
  for (const _ of renderer?.steps() ?? []) {
    sweep();
    sweep();
  }
  const made = rendering.rendered;
  renderer?.set(types.cluster);
  renderer?.set(types.endpoint);
  expect(rendering.rendered - made).toBeLessThan(10);
  expect(made).toBeLessThan(250);
});

test("what another class has only begun is gone through as well", () => {
  const { rendererOf, service } = start();
  for (let i = 0; i < 50; i++) service(`s${i}`);
  const { rendering, renderers } = rendererOf("a", "b");
  const [first, second] = renderers;
  const begun = first?.steps();
  begun?.next();
  expect([...(second?.steps() ?? [])].length).toBeGreaterThan(50);
  const made = rendering.counts.get("Cluster")?.computed ?? 0;
  expect(made).toBeGreaterThanOrEqual(50);
  // What is made by then is not gone through again.
  expect([...(begun ?? [])].length).toBeLessThan(20);
});

const namespaces = Array.from({ length: 8 }, (_, i) => `ns${i}`);

test.each([1, 5, 8])(
  "a change that comes when %i of 8 classes have one before is told once to those that have neither",
  async (first) => {
    const { source, service } = start();
    /** By namespace, which of the services a proxy had whenever it was told. */
    const told = new Map<string, string[][]>(namespaces.map((namespace) => [namespace, []]));
    let count = 0;
    for (const namespace of namespaces) {
      const session: ProxySession = source.connect(
        { ...node("x"), metadata: { NAMESPACE: namespace } },
        undefined,
        () => {
          const clusters = session.all(types.cluster);
          told
            .get(namespace)
            ?.push(["s1", "s2"].filter((name) => clusters.get(`outbound|80||${name}.default.svc.${domain}`)));
          if (++count === first) service("s2");
        },
      );
      await session.ready;
      session.all(types.cluster);
    }
    await source.flush();
    expect([count, source.classes]).toEqual([0, namespaces.length]);
    service("s1");
    await source.flush();
    const all = [...told.values()];
    expect(all.filter((times) => times.length === 2)).toEqual(
      Array.from({ length: first }, () => [["s1"], ["s1", "s2"]]),
    );
    expect(all.filter((times) => times.length === 1)).toEqual(Array.from({ length: 8 - first }, () => [["s1", "s2"]]));
    expect(count).toBe(namespaces.length + first);
  },
);

describe("names that proxies ask for beyond their sets", () => {
  const names = Array.from({ length: 50 }, (_, i) => `gone-${i}.default.svc.cluster.local:9000`);
  const ask = (session: ProxySession): void => {
    for (const name of names) expect(session.get(types.route, name)).toBeDefined();
  };
  const open = (source: ControlledSource, name: string): ProxySession => {
    const session = source.connect(node(name), undefined, () => {});
    session.all(types.route);
    return session;
  };

  test("are kept for as long as one of a class asks for them", () => {
    const { source, entries } = start();
    const [stays, gone] = [open(source, "x"), open(source, "x")];
    expect(source.classes).toBe(1);
    const before = entries();
    for (const session of [stays, gone]) ask(session);
    const asked = entries();
    expect(asked - before).toBeGreaterThanOrEqual(names.length);
    for (const name of names) stays.forget(types.route, name);
    stays.forget(types.route);
    expect(entries()).toBe(asked);
    gone.close();
    expect(entries()).toBeLessThanOrEqual(before);
    ask(stays);
    stays.forget(types.route);
    expect(entries()).toBeLessThanOrEqual(before);
  });

  test("go from a class that the proxy has left", async () => {
    const { source, service, entries } = start();
    const [moved] = [open(source, "a"), open(source, "b")];
    expect(source.classes).toBe(1);
    ask(moved);
    service("a");
    await source.flush();
    expect(source.classes).toBe(2);
    const before = entries();
    ask(moved);
    expect(entries()).toBeLessThanOrEqual(before + 5);
    moved.forget(types.route);
    expect(entries()).toBeLessThan(before - names.length + 5);
  });
});

test("a proxy is found by the node that it connected with, for as long as it is connected", () => {
  const { source } = start();
  const [first, second] = [node("a"), node("a")];
  const session = source.connect(first, undefined, () => {});
  expect(source.rendererOf(second)).toBeUndefined();
  source.connect(second, undefined, () => {});
  expect(source.rendererOf(first)).toBe(source.rendererOf(second));
  session.close();
  expect(source.rendererOf(first)).toBeUndefined();
  expect(source.rendererOf(second)).toBeDefined();
});

test("a proxy whose class is another one only for as long as that is made stays in the one it had", async () => {
  const { source, service, api } = start();
  for (let i = 0; i < 300; i++) service(`s${i}`);
  const proxy = node("a");
  const session = source.connect(proxy, undefined, () => {});
  await session.ready;
  session.all(types.cluster);
  await source.flush();
  const home = source.rendererOf(proxy)?.proxy;
  // Behind these its new class has to wait.
  const herd = Array.from({ length: 60 }, (_, i) =>
    source.connect({ ...node("x"), metadata: { NAMESPACE: `ns${i}` } }, undefined, () => {}),
  );
  service("a");
  while (source.classes <= herd.length + 1) await new Promise((resolve) => setTimeout(resolve, 1));
  for (const kind of ["Service", "Pod"])
    api.remove({ apiVersion: "v1", kind, metadata: { name: "a", namespace: "default" } });
  await source.flush();
  await Promise.all(herd.map(({ ready }) => ready));
  await source.flush();
  expect(source.rendererOf(proxy)?.proxy).toEqual(home);
});

test("a proxy that connects does not wait for those who look at other classes", async () => {
  const { source, service, classOf } = start();
  for (let i = 0; i < 300; i++) service(`s${i}`);
  let looked = 0;
  const looks = Array.from({ length: 400 }, async (_, i) => {
    const renderer = await source.look(classOf({ ...node("x"), metadata: { NAMESPACE: `ns${i}` } }));
    looked++;
    renderer.dispose();
  });
  await source.connect(node("a"), undefined, () => {}).ready;
  expect(looked).toBeLessThan(looks.length);
  await Promise.all(looks);
});

test("what fails beside a round is told, and keeps nobody from what the round makes", async () => {
  const { source, service, faults, onPush } = start();
  const pushed = Promise.withResolvers<void>();
  const session = source.connect(node("a"), undefined, () => pushed.resolve());
  session.all(types.cluster);
  onPush(() => {
    throw new Error("cannot count");
  });
  // Nobody waits for the round that follows by itself.
  service("b");
  await pushed.promise;
  expect(faults).toEqual(["cannot count"]);
  expect(session.all(types.cluster).get("outbound|80||b.default.svc.cluster.local")).toBeDefined();
});

describe("a class that cannot be made", () => {
  // Else it may be tried again, and be made, before it is looked at.
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
  afterEach(() => void vi.useRealTimers());

  /** Of two classes, the first fails. */
  async function fails() {
    const made = start();
    const { source, service, faults } = made;
    let isBroken = true;
    const fail = (): void => {
      if (isBroken) throw new Error("cannot be made");
    };
    source.connect(node("a"), undefined, fail).all(types.cluster);
    source.connect(node("b", "router"), undefined, () => {}).all(types.cluster);
    service("c");
    await source.flush();
    expect(faults).toEqual(["cannot be made"]);
    return {
      ...made,
      stuck: () => [...source.rendered()].filter(({ stuckAt }) => stuckAt !== undefined),
      mend() {
        isBroken = false;
      },
    };
  }

  test("keeps no other from being told of as made", async () => {
    const { source, service, version, stuck, mend } = await fails();
    expect(source.made).toBe(version());
    expect(stuck().flatMap(({ nodes }) => [...nodes].map(({ id }) => id.split("~")[2]))).toEqual(["a.default"]);
    expect(stuck()[0]?.stuckAt).toBeLessThan(version());
    mend();
    service("d");
    await source.flush();
    expect(stuck()).toEqual([]);
  });

  test("is tried again, and its being made is seen though the graph has not moved", async () => {
    const { source, version, stuck, mend } = await fails();
    const [before, failedMoves] = [version(), source.failedMoves];
    mend();
    await vi.advanceTimersByTimeAsync(2000);
    await source.flush();
    expect([stuck(), version()]).toEqual([[], before]);
    expect(source.failedMoves).not.toBe(failedMoves);
  });

  test("is told to all of its proxies once it can be made, also where one of them has failed over the news", async () => {
    const { source, service, faults } = start();
    const told: string[] = [];
    let isBroken = true;
    const hears = (name: string) => (): void => {
      if (isBroken && name === "a") throw new Error("cannot take it");
      told.push(name);
    };
    for (const name of ["a", "b"]) source.connect(node(name), undefined, hears(name)).all(types.cluster);
    expect(source.classes).toBe(1);
    service("c");
    await source.flush();
    expect(faults).toEqual(["cannot take it"]);
    isBroken = false;
    await vi.advanceTimersByTimeAsync(2000);
    await source.flush();
    expect(told).toEqual(["a", "b"]);
  });
});

test("what ends a round is told, also where nobody waits for the push that was asked for", async () => {
  const { source, service, faults, onPush, onFault } = start();
  source.connect(node("a"), undefined, () => {}).all(types.cluster);
  service("b");
  onPush(() => {
    throw new Error("cannot count");
  });
  onFault(() => {
    onFault(() => {});
    throw new Error("cannot tell");
  });
  await source.push();
  expect(faults).toEqual(["cannot count", "cannot tell"]);
});
