import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createGraph } from "../../../collections/index.ts";
import { createResourceSet, type KubeObject, type ResourceSet, types } from "../../../model/index.ts";
import type { Programmed } from "../../programmed/index.ts";
import type { MoveListener } from "../../source/set-moves.ts";
import { followChanges } from "./changes.ts";

type Verdict = NonNullable<Awaited<ReturnType<Programmed["of"]>>>;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A mesh in which what is made, and told to proxies, is what the test says; each object has a part in route 80. */
function start() {
  const graph = createGraph();
  const source = graph.source<KubeObject>("VirtualService");
  const kinds = new Map([["VirtualService", source]]);
  const followed: MoveListener[] = [];
  let made = 0;
  let standing: Pick<Verdict, "affected" | "acknowledged" | "waiting"> = { affected: 1, acknowledged: 1, waiting: [] };
  let [asked, answers] = [0, 0];
  let reach: Parameters<Programmed["followReach"]>[0] = () => {};
  source.subscribe((key) => reach(`VirtualService/${key}`, new Set(["80"])));
  const changes = followChanges({
    ...{ kinds, now: () => new Date(0) },
    settle: {
      ...{ graph, kinds, lookMs: 10 },
      programmed: {
        async of(_kind, key) {
          asked++;
          const { generation } = source.get(key)?.metadata ?? {};
          return { generation, isMade: true, refusing: [], ...standing };
        },
        get moves() {
          return `${made} ${answers}`;
        },
        subscribe: () => () => {},
        followReach(listener) {
          reach = listener;
        },
        async stillHave() {
          asked++;
          return standing.waiting;
        },
        kept: 0,
      },
      resources: {
        get made() {
          return made;
        },
        rendered: () => [],
        followMoves: (listener) => void followed.push(listener),
      },
      onFault(error) {
        throw error;
      },
    },
  });
  return {
    changes,
    change(name: string, generation: number): void {
      const metadata = { name, namespace: "ns", uid: name, generation };
      const spec = { n: generation };
      source.set(`ns/${name}`, { apiVersion: "networking.istio.io/v1", kind: "VirtualService", metadata, spec });
    },
    remove: (name: string) => source.delete(`ns/${name}`),
    /** Proxies answer: so far they are now. */
    answer(now: typeof standing): void {
      standing = now;
      answers++;
    },
    asked: () => asked,
    /** Who wants to know is told that a class goes from one set to another. */
    move(before: ResourceSet, now: ResourceSet): void {
      const move = { who: {}, proxies: 1, type: types.route, before, now, version: graph.version };
      for (const { wants, moved } of followed) if (wants()) moved(move);
    },
    /** All but so many of the last versions. */
    make(butFor = 0): void {
      made = graph.version - butFor;
    },
    kept: (): number => followed.reduce((sum, one) => sum + ("kept" in one ? Number(one.kept) : 0), 0),
  };
}

const route = (hash: string): ResourceSet =>
  createResourceSet([new Map([["80", { name: "80", hash, needs: [], pieces: [], size: 0 }]])]);

test("while changes go on coming, sets are kept only for those of which it is not known what they have touched", async () => {
  const { changes, change, move, make, kept } = start();
  let most = 0;
  for (let n = 1; n <= 1000; n++) {
    change(`v${n % 50}`, n);
    await vi.advanceTimersByTimeAsync(5);
    move(createResourceSet([]), createResourceSet([]));
    // There is always one that is not made yet.
    make(1);
    most = Math.max(most, kept());
  }
  expect(changes.all()[10]?.touched).toEqual([]);
  expect(most).toBeLessThan(20);
  make();
  await vi.advanceTimersByTimeAsync(1000);
  expect(kept()).toBe(0);
});

test("a change that is made, and overtaken before it is looked at, is told what it has touched, and no more", async () => {
  const { changes, change, move, make, kept } = start();
  const [first, second, third] = [route("v0"), route("v1"), route("v2")];
  change("web", 1);
  move(first, second);
  make();
  change("web", 2);
  move(second, third);
  make();
  await vi.advanceTimersByTimeAsync(1000);
  const touched = [{ type: "RDS", name: "80", act: "changed", proxies: 1 }];
  expect(changes.all().map((one) => [one.generation, one.touched, one.proxies?.isOvertaken])).toEqual([
    [2, touched, false],
    [1, touched, true],
  ]);
  expect(kept()).toBe(0);
});

test("a change that is overtaken before it is made has touched nothing by itself, and is said to be overtaken", async () => {
  const { changes, change, move, make, kept } = start();
  change("web", 1);
  change("web", 2);
  move(route("v0"), route("v2"));
  make();
  await vi.advanceTimersByTimeAsync(1000);
  expect(changes.all().map(({ generation, touched }) => [generation, touched?.length])).toEqual([
    [2, 1],
    [1, undefined],
  ]);
  expect(changes.all().map(({ proxies }) => proxies?.isOvertaken)).toEqual([false, true]);
  expect(kept()).toBe(0);
});

test("a change is looked at with each answer of proxies until all have it, and then no more", async () => {
  const { changes, change, make, answer, asked } = start();
  const proxies = async () => {
    await vi.advanceTimersByTimeAsync(1000);
    return changes.all()[0]?.proxies;
  };
  answer({ affected: 2, acknowledged: 1, waiting: ["a.ns"] });
  change("web", 1);
  make();
  expect(await proxies()).toMatchObject({ affected: 2, acknowledged: 1, waiting: 1 });
  const looks = asked();
  await proxies();
  expect(asked()).toBe(looks);
  const told = changes.moves();
  answer({ affected: 2, acknowledged: 2, waiting: [] });
  expect(await proxies()).toMatchObject({ affected: 2, acknowledged: 2, waiting: 0 });
  expect(changes.moves()).not.toBe(told);
  answer({ affected: 3, acknowledged: 3, waiting: [] });
  expect(await proxies()).toMatchObject({ affected: 2 });
});

test("of what was removed it is told who still has it, of all that were given something else", async () => {
  const { changes, change, remove, move, make, answer } = start();
  change("web", 1);
  make();
  await vi.advanceTimersByTimeAsync(1000);
  answer({ affected: 0, acknowledged: 0, waiting: ["a.ns"] });
  remove("web");
  move(route("v0"), createResourceSet([]));
  move(route("v0"), createResourceSet([]));
  make();
  await vi.advanceTimersByTimeAsync(1000);
  expect(changes.all()[0]).toMatchObject({
    act: "removed",
    touched: [{ type: "RDS", name: "80", act: "removed", proxies: 2 }],
    proxies: { affected: 2, acknowledged: 1, waiting: 1 },
  });
  // What there was can be shown.
  expect((await changes.detail(2))?.envoy).toEqual([expect.any(Array)]);
});
