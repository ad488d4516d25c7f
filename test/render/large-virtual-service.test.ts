/** A VirtualService with very many matches is made block by block, and comes out as if it were not. */
import { expect, test } from "vitest";
import { createOffline } from "../../src/control-plane/index.ts";
import { type KubeObject, types } from "../../src/model/index.ts";
import { createRendering } from "../../src/render/index.ts";
import { matchBlocks } from "../../src/render/route/select.ts";
import { istio, pod, service } from "./objects.ts";
import { renderProxy } from "./offline.ts";

const prefix = (i: number): object => ({ uri: { prefix: `/p${i}/` } });
const repeat = <T>(count: number, item: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => item(i));
const destination = [{ destination: { host: "web" } }];
const large = (http: readonly object[]): KubeObject => istio("VirtualService", "large", { hosts: ["web"], http });
const world = [pod("client", { proxy: "sidecar" }), service("web", { port: 80, spec: { clusterIP: "10.1.0.1" } })];
/** 1,100 matches in routes of one and of many. */
const many: readonly object[] = [
  ...repeat(300, (i) => ({ match: [prefix(i)], route: destination })),
  { match: repeat(800, (i) => prefix(300 + i)), route: destination },
];

async function pathsOf(http: readonly object[]): Promise<readonly string[]> {
  const { routes } = await renderProxy({ objects: [...world, large(http)] });
  const hosts: { name: string; routes: { match: { prefix?: string } }[] }[] = routes.get("80").virtualHosts;
  const own = hosts.find(({ name }) => name.startsWith("web."));
  return (own?.routes ?? []).map(({ match }) => match.prefix ?? "");
}

test("all routes are there, in their order, the one that takes everything last", async () => {
  const paths = await pathsOf([...many, { route: destination }]);
  expect(paths).toEqual([...repeat(1_100, (i) => `/p${i}/`), "/"]);
});

test("behind a route that takes everything there is nothing, wherever it stands", async () => {
  for (const at of [0, 249, 250, 299])
    expect(await pathsOf(many.toSpliced(at, 0, { route: destination }))).toEqual([
      ...repeat(at, (i) => `/p${i}/`),
      "/",
    ]);
});

test("blocks with patterns, which are compiled, are shorter, and nothing is missing between them", () => {
  const match = repeat(260, (i) => (i % 2 === 0 ? prefix(i) : { headers: { a: { regex: `b${i}+` } } }));
  const blocks = matchBlocks({ http: [{}, { match }] });
  expect(blocks.map(({ from }) => from)).toEqual([0, ...blocks.slice(0, -1).map(({ to }) => to)]);
  expect([blocks.at(-1)?.to, blocks.length]).toEqual([261, 4]);
  expect(matchBlocks({ http: [{ match: repeat(260, prefix) }] })).toEqual([
    { from: 0, to: 250 },
    { from: 250, to: 260 },
  ]);
  expect(matchBlocks({})).toEqual([]);
});

test("it is made in steps, and a change of one route makes the others come out the same", () => {
  const offline = createOffline({ objects: [...world, large(many)] });
  const [proxy] = offline.proxies();
  if (!proxy) throw new Error("no proxy");
  const hashOf = (rendering: ReturnType<typeof createRendering>): string | undefined =>
    rendering.renderer(offline.classOf(proxy)).set(types.route).get("80")?.hash;
  const rendering = createRendering(offline.mesh);
  const renderer = rendering.renderer(offline.classOf(proxy));
  const steps = renderer.steps();
  const blocks = (): number => rendering.counts.get("route block")?.computed ?? 0;
  let most = 0;
  for (let before = 0, done: boolean | undefined; !done; before = blocks()) {
    done = steps.next().done;
    most = Math.max(most, blocks() - before);
  }
  expect([blocks(), most]).toEqual([5, 1]);
  expect(hashOf(rendering)).toBe(hashOf(createRendering(offline.mesh)));
  offline.source.apply([large(many.with(7, { match: [prefix(7)], timeout: "9s", route: destination }))]);
  renderer.refresh();
  expect(hashOf(rendering)).toBe(hashOf(createRendering(offline.mesh)));
});
