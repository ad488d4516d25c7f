import { expect, test } from "vitest";
import { createGraph } from "../../collections/index.ts";
import { createResourceSet, type ProxyClass } from "../../model/index.ts";
import type { Renderer } from "../../render/index.ts";
import type { RenderedClass } from "../source/resource-source.ts";
import { createRosters } from "./roster.ts";

function start() {
  const renderer = { proxy: { envoyFilters: [] as readonly string[] } as ProxyClass, set: () => createResourceSet([]) };
  const state = { rosters: 0, failedMoves: 1, stuck: { stuckAt: 4 } as { readonly stuckAt?: number } };
  const graph = createGraph();
  const rosters = createRosters({
    graph,
    resources: {
      *rendered(): Generator<RenderedClass> {
        state.rosters++;
        yield { renderer: renderer as unknown as Renderer, nodes: new Set(), ...state.stuck };
      },
      get failedMoves() {
        return state.failedMoves;
      },
      get made() {
        return graph.version;
      },
    },
    ads: { progress: () => [].values(), moves: 0 },
  });
  const stuckAt = async (): Promise<number | undefined> => (await rosters.current()).classes[0]?.stuckAt;
  return { state, stuckAt, rosters };
}

test("many who ask at once have one and the same", async () => {
  const { state, rosters } = start();
  const [first, ...others] = await Promise.all(Array.from({ length: 20 }, () => rosters.current()));
  for (const roster of others) expect(roster).toBe(first);
  expect(state.rosters).toBe(1);
});

test("a class that is made when it is tried again is no longer stuck, though no proxy and no object has moved", async () => {
  const { state, stuckAt } = start();
  expect(await stuckAt()).toBe(4);
  Object.assign(state, { failedMoves: 2, stuck: {} });
  expect(await stuckAt()).toBeUndefined();
});
