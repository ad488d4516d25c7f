import { expect, test } from "vitest";
import { createGraph } from "../../../collections/index.ts";
import type { KubeObject } from "../../../model/index.ts";
import { followChanges } from "./changes.ts";

function follow() {
  const graph = createGraph();
  const source = graph.source<KubeObject>("VirtualService");
  const changes = followChanges({ kinds: new Map([["VirtualService", source]]), now: () => new Date(0) });
  let generation = 0;
  const write = (spec: object): void => {
    generation++;
    const metadata = { name: "web", namespace: "shop", uid: "1", generation };
    source.set("shop/web", { apiVersion: "networking.istio.io/v1", kind: "VirtualService", metadata, spec });
  };
  return { changes, write };
}

test("a difference has few lines, none of them long", () => {
  const { changes, write } = follow();
  write({ hosts: ["a"] });
  write({ hosts: ["x".repeat(10_000)] });
  write({ hosts: Array.from({ length: 1000 }, (_, i) => `host-${i}`) });
  const [many, long] = changes.all();
  expect(many?.diff).toHaveLength(200);
  expect(Math.max(...(long?.diff ?? []).map((line) => line.length))).toBe(201);
});

test("of what is large nothing is kept but that it changed", () => {
  const { changes, write } = follow();
  write({ hosts: ["a"] });
  write({ hosts: ["x".repeat(100_000)] });
  expect(changes.of("VirtualService/shop/web").map(({ act, diff }) => [act, diff.length])).toEqual([
    ["changed", 1],
    ["added", 8],
  ]);
  expect(changes.all()[0]?.diff).toEqual([" too large to be compared here"]);
});
