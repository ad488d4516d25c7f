/** What edits cost is counted in proxies that are asked: none with a change, and all of them once for many. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createGraph } from "../../collections/index.ts";
import type { KubeObject, Resource } from "../../model/index.ts";
import { createProgrammed } from "./programmed.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("edits ask no proxy anything, and a moment later it is looked once for all of them", async () => {
  const graph = createGraph();
  const objects = graph.source<KubeObject>("VirtualService");
  const routes = graph.memo<Resource>("routes", (name) => {
    const generation = objects.get("ns/web")?.metadata.generation ?? 0;
    return { name, hash: `${name} ${generation}`, needs: [], pieces: [], size: 0 };
  });
  const names = ["80", "8080", "9090"];
  const readers = graph.memo("readers", () => names.map((name) => routes.get(name)));
  let asked = 0;
  const programmed = createProgrammed({
    graph,
    kinds: new Map([["VirtualService", objects]]),
    resources: {
      rendered: () => [],
      failedMoves: 0,
      isStale: () => false,
      get made() {
        return graph.version;
      },
    },
    ads: {
      progress() {
        asked++;
        return [].values();
      },
      moves: 0,
    },
    ...{ withheld: () => undefined, isOpen: () => false, isReady: () => true },
    onFault(error) {
      throw error;
    },
  });
  const edit = (generation: number): void => {
    const metadata = { name: "web", namespace: "ns", uid: "web", generation };
    objects.set("ns/web", { apiVersion: "networking.istio.io/v1", kind: "VirtualService", metadata, spec: {} });
    readers.get("");
  };
  for (let n = 1; n <= 2000; n++) edit(n);
  expect(programmed.kept).toBe(1 + (2000 - 1) * names.length);
  await vi.advanceTimersByTimeAsync(999);
  expect(asked).toBe(0);
  await vi.advanceTimersByTimeAsync(60_000);
  expect([asked, programmed.kept]).toEqual([1, 0]);
  // So little is not looked at.
  for (let n = 2001; n <= 2300; n++) edit(n);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(asked).toBe(1);
});
