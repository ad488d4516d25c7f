import { setImmediate as nextTurn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import type { KubeObject } from "../model/index.ts";
import type { Store, StoreEvent } from "./store.ts";
import { createWatchHub, type HistoryLimits } from "./watch-hub.ts";

const wide: HistoryLimits = { events: 1_000_000, bytes: 1e12, allBytes: 1e12, ageMs: 1e12 };

/** A hub, and events put into it by hand, at a time of our choice. */
function start(limits: Partial<HistoryLimits>) {
  let [version, nowMs] = [0, 0];
  let tell: (event: StoreEvent) => void = () => {};
  const store: Pick<Store, "version" | "subscribe"> = {
    get version() {
      return version;
    },
    subscribe(listener) {
      tell = listener;
      return () => {};
    },
  };
  const hub = createWatchHub(store, { ...wide, ...limits }, () => nowMs);
  const small = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } };
  const put = (resource: string, object: KubeObject, text: string, before?: KubeObject): void => {
    version++;
    tell({ type: "MODIFIED", resource, key: "a", version, object, before, text });
  };
  const write = (count = 1, resource = "/configmaps"): void => {
    for (let i = 0; i < count; i++) put(resource, small, "x".repeat(100));
  };
  const read = (after: number): readonly number[] | "too old" => {
    try {
      const cursor = hub.open("/configmaps", after, () => {});
      const seen: number[] = [];
      for (let event = cursor.next(); event && event !== "expired"; event = cursor.next()) seen.push(event.version);
      cursor.close();
      return seen;
    } catch {
      return "too old";
    }
  };
  return {
    ...{ hub, write, read, put },
    pass(ms: number) {
      nowMs += ms;
    },
  };
}

test("who begins at a version that is kept misses nothing; one that is too old is refused", () => {
  const { write, read } = start({ events: 10 });
  write(1_000);
  expect(read(1_000)).toEqual([]);
  expect(read(995)).toEqual([996, 997, 998, 999, 1_000]);
  expect(read(990)).toHaveLength(10);
  expect(read(989)).toBe("too old");
});

test("no more is kept than the limit of bytes, but always the last event", () => {
  const { write, read } = start({ bytes: 350 });
  write(50);
  expect(read(47)).toEqual([48, 49, 50]);
  expect(read(46)).toBe("too old");
  const tiny = start({ bytes: 1 });
  tiny.write(5);
  expect(tiny.read(4)).toEqual([5]);
});

test("of all resources together no more is kept, and who has most gives it up", () => {
  const { hub, write, read } = start({ allBytes: 1_000 });
  const other = hub.open("/secrets", 0, () => {});
  write(2, "/secrets");
  write(50);
  expect(read(44)).toHaveLength(8);
  expect(read(43)).toBe("too old");
  expect([other.next(), other.next(), other.next()]).toMatchObject([{ version: 1 }, { version: 2 }, undefined]);
});

test("large objects of the past are kept as text, and read as they were", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const { hub, put } = start({});
  const cursor = hub.open("/configmaps", 0, () => {});
  const made = (value: string): KubeObject =>
    ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: { a: value.repeat(5_000) } }) as KubeObject;
  const gone = ((): readonly WeakRef<KubeObject>[] => {
    const [first, second] = [made("1"), made("2")];
    put("/configmaps", first, JSON.stringify(first));
    put("/configmaps", second, JSON.stringify(second), first);
    return [new WeakRef(first), new WeakRef(second)];
  })();
  await nextTurn();
  collect();
  expect(gone.map((ref) => ref.deref())).toEqual([undefined, undefined]);
  expect(cursor.next()).toMatchObject({ object: made("1"), before: undefined });
  expect(cursor.next()).toMatchObject({ object: made("2"), before: made("1") });
});

test("what is older than the limit goes with the next event", () => {
  const { write, read, pass } = start({ ageMs: 60_000 });
  write(5);
  pass(50_000);
  write(5);
  expect(read(0)).toHaveLength(10);
  pass(30_000);
  write(1);
  expect(read(4)).toBe("too old");
  expect(read(5)).toEqual([6, 7, 8, 9, 10, 11]);
});

test("a reader that keeps up never expires; one that stays behind is told", () => {
  const { hub, write } = start({ events: 10 });
  const [quick, slow] = [hub.open("/configmaps", 0, () => {}), hub.open("/configmaps", 0, () => {})];
  const seen: number[] = [];
  for (let i = 0; i < 200; i++) {
    write(3);
    for (let event = quick.next(); event && event !== "expired"; event = quick.next()) seen.push(event.version);
  }
  expect(seen).toEqual(Array.from({ length: 600 }, (_, i) => i + 1));
  expect(quick.version).toBe(600);
  expect(slow.next()).toBe("expired");
  expect(slow.version).toBeUndefined();
});

test("where memory is short the past is forgotten", () => {
  const { hub, write, read } = start({});
  write(20);
  hub.forget();
  expect(read(10)).toBe("too old");
  write(1);
  expect(read(19)).toEqual([20, 21]);
});

test("the text of an object is known at the version of its last event, while that is kept", () => {
  const { hub, put, write } = start({ events: 2 });
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } };
  put("/configmaps", object, "first");
  put("/configmaps", object, "second");
  expect(["1", "2", undefined].map((version) => hub.textOf("/configmaps", "a", version))).toEqual([
    undefined,
    "second",
    undefined,
  ]);
  expect([hub.textOf("/configmaps", "b", "2"), hub.textOf("/secrets", "a", "2")]).toEqual([undefined, undefined]);
  write();
  expect(hub.textOf("/configmaps", "a", "2")).toBeUndefined();
});
