import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createResourceSet, envoyTypes, type Resource, types } from "../../model/index.ts";
import type { Renderer } from "../../render/index.ts";
import type { ProxyProgress } from "../../xds/index.ts";
import { createEarlierGenerations } from "./earlier-generations.ts";
import type { ClassEntry } from "./roster.ts";
import { createTidy, type Moment, tidySteps } from "./tidy.ts";

const resource = (name: string, hash: string): Resource => ({ name, hash, needs: [], pieces: [], size: 0 });

/** A proxy that may have these versions of the route 80, and of as many other routes as there are. */
function proxyWith(versions: readonly string[], others = 0): ProxyProgress {
  const names = ["80", ...Array.from({ length: others }, (_, i) => `other ${i}`)];
  return {
    node: { id: "sidecar~10.0.0.1~p.ns~ns.svc.cluster.local", cluster: "", metadata: {} } as ProxyProgress["node"],
    isSettled: () => false,
    refusals: () => [].values(),
    of: () => "awaited",
    accepted: () => undefined,
    sent: () => undefined,
    words: () => "",
    follows: () => undefined,
    mayHave: (type, name) =>
      type === types.route && name === "80" ? versions.map((hash) => resource(name, hash)) : [],
    unsettled: (type) => (type === types.route ? names.toReversed().values() : [].values()),
  };
}

/** A class that is to have this version of the route. */
function classOf(version: string, proxies: readonly ProxyProgress[]): ClassEntry {
  const sets = envoyTypes.map((type) =>
    createResourceSet(type === types.route ? [new Map([["80", resource("80", version)]])] : []),
  );
  const crowds = proxies.map((proxy) => ({ proxies: [proxy] as const, follows: undefined }));
  return { ...{ sets, crowds, nodes: [] }, renderer: {} as Renderer };
}

/** Of an object that has changed in version 5, and made the route in three versions before; what is left of these. */
function left(classes: readonly ClassEntry[], moment: Partial<Moment>): readonly string[] | undefined {
  const generations = createEarlierGenerations();
  const made = new Set(["one", "two", "three"].map((hash) => resource("80", hash)));
  generations.add("VirtualService/ns/a", { version: 5, isGone: false }, new Map([["80", made]]));
  for (const _step of tidySteps({ classes }, generations, { version: 9, made: 9, ...moment }));
  const change = generations.get("VirtualService/ns/a");
  return change && [...change.earlier.values()].flatMap((hashes) => [...hashes]);
}

describe("what objects made before", () => {
  test("goes, and the change with it, where no proxy has it", () => {
    expect(left([classOf("four", [])], {})).toBeUndefined();
    expect(left([classOf("four", [proxyWith(["four"])])], {})).toBeUndefined();
  });

  test("stays where a proxy may have it in place of what is wanted, however much else it lacks", () => {
    for (const others of [0, 1, 100]) {
      const classes = [classOf("four", [proxyWith(["one", "four"], others)]), classOf("three", [proxyWith(["three"])])];
      expect(left(classes, {})).toEqual(["one"]);
    }
  });

  test("stays while a class that has it cannot be made", () => {
    expect(left([{ ...classOf("three", []), stuckAt: 4 }], {})).toEqual(["three"]);
    expect(left([{ ...classOf("three", []), stuckAt: 5 }], {})).toBeUndefined();
  });

  test("stays until the change is made where it is still wanted: whoever comes is sent it", () => {
    expect(left([classOf("three", [])], { made: 4 })).toEqual(["three"]);
    expect(left([classOf("four", [])], { made: 4 })).toEqual([]);
  });

  test("stays where the object has changed since the look began", () => {
    expect(left([classOf("four", [])], { version: 4, made: 4 })).toEqual(["one", "two", "three"]);
  });
});

describe("what is looked at", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** Something that grows, of which a look leaves no more than is needed. */
  function start() {
    const all = { size: 0, needed: 0, looks: 0, faults: 0 };
    const grown = createTidy({
      size: () => all.size,
      async work() {
        all.looks++;
        all.size = Math.min(all.size, all.needed);
        if (all.needed < 0) throw new Error("no");
      },
      onFault: () => all.faults++,
      times: { least: 10, restMs: 100, maxRestMs: 1000 },
    });
    const grow = (by: number): void => {
      for (let i = 0; i < by; i++) {
        all.size++;
        grown();
      }
    };
    return { all, grow };
  }

  test("is nothing while there is little of it", async () => {
    const { all, grow } = start();
    grow(10);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(all).toMatchObject({ size: 10, looks: 0 });
  });

  test("is what has come together, a moment later, once for all", async () => {
    const { all, grow } = start();
    grow(50);
    await vi.advanceTimersByTimeAsync(99);
    expect(all.looks).toBe(0);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(all).toMatchObject({ size: 0, looks: 1 });
  });

  test("is looked at though more comes all the time", async () => {
    const { all, grow } = start();
    for (let i = 0; i < 20; i++) {
      grow(11);
      await vi.advanceTimersByTimeAsync(50);
    }
    expect(all.looks).toBeGreaterThan(4);
  });

  test("is looked at again soon only when it has doubled, and else ever more rarely", async () => {
    const { all, grow } = start();
    all.needed = 20;
    grow(30);
    await vi.advanceTimersByTimeAsync(100);
    grow(20);
    await vi.advanceTimersByTimeAsync(199);
    expect(all).toMatchObject({ size: 40, looks: 1 });
    grow(1);
    await vi.advanceTimersByTimeAsync(100);
    expect(all.looks).toBe(2);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(all.looks).toBeLessThan(9);
    all.needed = 0;
    await vi.advanceTimersByTimeAsync(1_000);
    const { looks } = all;
    expect(all.size).toBe(0);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(all.looks).toBe(looks);
  });

  test("is looked at again where a look has failed", async () => {
    const { all, grow } = start();
    all.needed = -1;
    grow(11);
    await vi.advanceTimersByTimeAsync(100);
    expect(all.faults).toBe(1);
    all.size = 30;
    grow(1);
    await vi.advanceTimersByTimeAsync(100);
    expect(all.faults).toBe(2);
  });
});
