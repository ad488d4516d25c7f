import { expect, test } from "vitest";
import { createGraph } from "../collections/index.ts";
import { encodedResource, type ResourceType, types } from "../model/index.ts";
import { createClassSets } from "./class-sets.ts";
import type { ResourceKind } from "./kind.ts";
import type { Layer } from "./layer.ts";
import type { View } from "./view.ts";

/** Layers of clusters, each one resource whose content is the member of that name; a class is its layers' names. */
function start() {
  const graph = createGraph();
  const contents = graph.source<string>("contents");
  const classes = graph.source<string>("classes");
  const layers = graph.memo<Layer>("layer", (name) => {
    const content = contents.get(name) ?? "";
    if (content === "broken") throw new Error("a fault of ours");
    return new Map([[name, encodedResource(name, Buffer.from(content))]]);
  });
  const kind: ResourceKind = {
    type: types.cluster,
    refs(view) {
      if (classes.get(String(view.id)) === "unplannable") throw new Error("a fault of ours");
      return (classes.get(String(view.id)) ?? "").split(",").map((name) => ({ memo: layers, key: name }));
    },
    patched: (view) => (classes.get(String(view.id)) === "patched" ? [layers.get("own")] : undefined),
  };
  const faults: string[] = [];
  const sets = createClassSets(graph, {
    kindOf: (type) => (type === types.cluster ? kind : undefined),
    fault: ({ error }) => faults.push(String(error)),
  });
  const told: string[] = [];
  const join = (id: number, of: string): void => {
    classes.set(String(id), of);
    const invalidated = (type: ResourceType): void => void told.push(`${id} ${type === types.cluster}`);
    sets.join(String(id), { view: { id } as View, invalidated });
  };
  return {
    graph,
    contents,
    classes,
    layers,
    sets,
    join,
    told,
    faults,
    get: (id: number) => sets.get(String(id), types.cluster),
  };
}

const names = (set: { names(): Iterable<string> }): string => [...set.names()].join();

test("classes with the same layers have one set, worked out once and told to all", () => {
  const { contents, layers, sets, join, told, get } = start();
  const isFresh = (id: number): boolean => sets.isFresh(String(id), types.cluster);
  for (let id = 0; id < 100; id++) join(id, id < 99 ? "a,b" : "a,c");
  expect(isFresh(0)).toBe(false);
  const first = get(0);
  for (let id = 1; id < 99; id++) expect(get(id)).toBe(first);
  expect(get(99)).not.toBe(first);
  const before = layers.computed;
  contents.set("b", "new");
  expect(told).toHaveLength(99);
  expect([isFresh(0), isFresh(98), isFresh(99)]).toEqual([false, false, true]);
  const next = get(0);
  expect(isFresh(98)).toBe(true);
  for (let id = 1; id < 99; id++) expect(get(id)).toBe(next);
  expect(next.get("b")).not.toBe(first.get("b"));
  expect(next.get("a")).toBe(first.get("a"));
  expect(layers.computed - before).toBe(1);
});

test("a class goes to other layers, to its own and back", () => {
  const { classes, contents, join, told, get } = start();
  join(1, "a");
  join(2, "a");
  const shared = get(2);
  expect(get(1)).toBe(shared);
  for (const layers of ["b", "patched", "a,b", "a"]) {
    classes.set("1", layers);
    expect(names(get(1))).toBe(layers === "patched" ? "own" : layers);
  }
  expect(get(1)).toBe(shared);
  told.length = 0;
  contents.set("b", "of nobody");
  expect(told).toEqual([]);
});

test("a fault leaves what there was; what never was is the caller's", () => {
  const { contents, join, faults, get } = start();
  join(1, "a");
  const good = get(1);
  contents.set("a", "broken");
  expect(get(1)).toBe(good);
  expect(faults).toHaveLength(1);
  join(2, "a,b");
  expect(() => get(2)).toThrow("a fault of ours");
  contents.set("a", "good again");
  expect(names(get(2))).toBe("a,b");
  expect(get(1).get("a")).not.toBe(good.get("a"));
});

test("what has left is not kept", () => {
  const { graph, sets, join, get } = start();
  join(0, "a");
  get(0);
  graph.sweep();
  const before = graph.entries;
  for (let id = 1; id < 50; id++) {
    join(id, id % 2 === 0 ? `x${id},y` : "patched");
    get(id);
    sets.leave(String(id));
  }
  join(50, "unplannable");
  expect(() => get(50)).toThrow("a fault of ours");
  sets.leave("50");
  for (let i = 0; i < 3; i++) graph.sweep();
  // The classes' own names stay in the test's source.
  expect(graph.entries).toBeLessThanOrEqual(before + 1);
});
