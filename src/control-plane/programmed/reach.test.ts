import { expect, test } from "vitest";
import { createGraph } from "../../collections/index.ts";
import { createResourceSet, type KubeObject, type Resource, types } from "../../model/index.ts";
import type { Renderer } from "../../render/index.ts";
import { reachOf } from "./reach.ts";

const resource = (name: string, hash: string): Resource => ({ name, hash, needs: [], pieces: [], size: 0 });
const layer = (...all: readonly Resource[]) => new Map(all.map((one) => [one.name, one]));

test("what a filter has patched is looked for once in what many classes share", () => {
  const [shared, own, other] = [resource("80", "a"), resource("80", "b"), resource("81", "c")];
  const everybody = layer(shared, other);
  let asked = 0;
  const classOf = (filters: readonly string[], ...layers: readonly ReadonlyMap<string, Resource>[]) => {
    const set = createResourceSet(layers);
    const renderer = {
      proxy: { envoyFilters: filters },
      set: (type: string) => (type === types.route ? set : createResourceSet([])),
      patchesOf(of: Resource) {
        asked++;
        return of === other ? [] : [{ object: "EnvoyFilter/ns/f" }];
      },
    };
    return { renderer: renderer as unknown as Renderer };
  };
  const classes = [
    ...Array.from({ length: 100 }, () => classOf(["ns/f"], everybody)),
    classOf(["ns/f"], everybody, layer(own)),
    classOf(["ns/g"], layer(resource("82", "d"))),
  ];
  const graph = createGraph();
  const sources = { graph, resources: { rendered: () => classes } };
  const objects = graph.source<KubeObject>("EnvoyFilter");
  expect(reachOf(sources, "EnvoyFilter", objects, "ns/f")).toEqual(new Map([["80", new Set([shared, own])]]));
  expect(asked).toBe(3);
});
