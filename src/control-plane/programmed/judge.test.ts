import { expect, test } from "vitest";
import { createResourceSet, envoyTypes, type Resource, type ResourceType, types } from "../../model/index.ts";
import type { Renderer } from "../../render/index.ts";
import type { Progress, ProxyProgress } from "../../xds/index.ts";
import { crowdsOf, type Follows } from "./crowds.ts";
import { type JudgeInputs, judgeSteps, type Verdict } from "./judge.ts";
import type { Made } from "./reach.ts";
import type { ClassEntry } from "./roster.ts";
import { createWhere, type Owner } from "./where.ts";

const resource = (name: string, hash = name): Resource => ({ name, hash, needs: [], pieces: [], size: 0 });
const layer = (...resources: readonly Resource[]) => new Map(resources.map((one) => [one.name, one]));
const everything: Follows = { has: () => true };

const earlierRoute = (hash: string) => new Map([["80", new Set([hash])]]);

/** Counts how often it is asked about single resources. */
interface Fleet {
  asked: number;
  readonly proxies: readonly ProxyProgress[];
}

/** Proxies with the same answers; by name they follow these routes, and all of each other type. */
function fleet(count: number, routes: Follows, progress?: Progress): Fleet {
  const all: Fleet = {
    asked: 0,
    proxies: Array.from({ length: count }, (_, i) => ({
      node: {
        id: `sidecar~10.0.0.1~p${i}.ns~ns.svc.cluster.local`,
        cluster: "",
        metadata: {},
      } as ProxyProgress["node"],
      isSettled: () => true,
      refusals: () => [].values(),
      accepted: () => undefined,
      mayHave: () => [],
      unsettled: () => [].values(),
      sent: () => undefined,
      words: () => "no\nway",
      of() {
        all.asked++;
        return progress ?? "unasked";
      },
      follows: (type: ResourceType) => (progress ? undefined : type === types.route ? routes : everything),
    })),
  };
  return all;
}

type Layers = Readonly<Partial<Record<ResourceType, readonly ReadonlyMap<string, Resource>[]>>>;

function owner({ proxies }: Fleet, layers: Layers): Owner {
  const sets = envoyTypes.map((type) => createResourceSet(layers[type] ?? []));
  return { sets, crowds: crowdsOf(proxies, sets) };
}

function judged(owners: readonly Owner[], made: Made, filters: Partial<JudgeInputs> = {}): Verdict {
  const where = createWhere();
  for (const one of owners) where.add(one);
  const steps = judgeSteps({
    roster: { version: 1, classes: [], where, patched: [] },
    object: "VirtualService/ns/a",
    made,
    isOpen: () => false,
    withheld: undefined,
    earlier: new Map(),
    version: 1,
    isStale: () => false,
    ...filters,
  });
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

test("proxies that have answered all are counted without asking each", () => {
  const [shared, other] = [resource("shared"), resource("other")];
  const public80 = layer(shared, other);
  const fleets = Array.from({ length: 20 }, () => fleet(50, everything));
  const owners = fleets.map((one, i) =>
    owner(one, { [types.cluster]: [public80, layer(resource(`own ${i}`))], [types.route]: [layer(resource("80"))] }),
  );
  expect(judged(owners, [[shared]])).toMatchObject({ affected: 1000, acknowledged: 1000, waiting: [], refusing: [] });
  expect(fleets.map(({ asked }) => asked)).toEqual(fleets.map(() => 0));
});

test("what is found in several lists and layers counts a proxy once", () => {
  const [cluster, route] = [resource("outbound"), resource("80")];
  const layers = { [types.cluster]: [layer(cluster)], [types.route]: [layer(route)] };
  const owners = [owner(fleet(3, everything), layers), owner(fleet(2, everything), {})];
  expect(judged(owners, [[cluster, route], [route]])).toMatchObject({ affected: 3, acknowledged: 3 });
});

test("what another layer hides is not sent, and affects nobody", () => {
  const [hidden, shown] = [resource("80", "public"), resource("80", "own")];
  const public80 = layer(hidden);
  const owners = [
    owner(fleet(2, everything), { [types.route]: [public80, layer(shown)] }),
    owner(fleet(3, everything), { [types.route]: [public80] }),
  ];
  expect(judged(owners, [[hidden]])).toMatchObject({ affected: 3 });
  expect(judged(owners, [[shown]])).toMatchObject({ affected: 2 });
});

test("a route that proxies do not follow is asked about once for all that follow the same", () => {
  const route = resource("80");
  const others = fleet(40, new Set(["81"]));
  const owners = [owner(others, { [types.route]: [layer(route)] })];
  expect(judged(owners, [[route]])).toMatchObject({ affected: 0 });
  expect(others.asked).toBe(1);
});

test.each<[Progress, Partial<Verdict>]>([
  ["has", { affected: 2, acknowledged: 2 }],
  ["awaited", { affected: 2, acknowledged: 0, waiting: ["p0.ns", "p1.ns"] }],
  [
    "refused",
    {
      affected: 2,
      acknowledged: 0,
      refusing: ["p0.ns", "p1.ns"].map((proxy) => ({ proxy, part: "RDS 80", words: "no\\u000away" })),
    },
  ],
  ["unasked", { affected: 0 }],
])("each that something is awaited of is asked itself: %s", (progress, verdict) => {
  const route = resource("80");
  const both = fleet(2, everything, progress);
  expect(judged([owner(both, { [types.route]: [layer(route)] })], [[route]])).toMatchObject(verdict);
  expect(both.asked).toBe(2);
});

/** A class that patches are applied to: its route is no longer what was made from the object. */
function patchedClass(proxies: Fleet, object: string): ClassEntry {
  const route = resource("80", "patched");
  const own = owner(proxies, { [types.route]: [layer(route)] });
  const renderer: Pick<Renderer, "set" | "patchesOf" | "causes"> & { proxy: { envoyFilters: readonly string[] } } = {
    proxy: { envoyFilters: ["ns/f"] },
    set: (type) => own.sets[envoyTypes.indexOf(type)] ?? createResourceSet([]),
    patchesOf: (one) => (one === route ? [{ object: "EnvoyFilter/ns/f", field: "", patch: {} }] : []),
    causes: () => [{ object }],
  };
  return { ...own, renderer: renderer as Renderer, nodes: proxies.proxies.map(({ node }) => node) };
}

test.each([
  ["VirtualService/ns/a", 3],
  ["VirtualService/ns/b", 0],
])("what was patched is an object's by its causes: %s", (object, affected) => {
  const patched = [patchedClass(fleet(3, everything, "has"), object)];
  const roster = { version: 1, classes: patched, where: createWhere(), patched };
  expect(judged([], [[resource("80")]], { roster })).toMatchObject({ affected, acknowledged: affected });
});

test("a proxy that is not sent the object refuses it, and is counted once", () => {
  const all = fleet(3, everything, "has");
  const patched = [patchedClass(all, "VirtualService/ns/a")];
  const [first] = all.proxies;
  const refusing = { proxy: "p0.ns", part: "LDS l", words: "no" };
  const verdict = judged([], [[resource("80")]], {
    roster: { version: 1, classes: patched, where: createWhere(), patched },
    withheld: (node) => (node === first?.node ? refusing : undefined),
  });
  expect(verdict).toMatchObject({ affected: 3, acknowledged: 2, refusing: [refusing], waiting: [] });
});

test.each<[string, readonly string[], readonly string[]]>([
  ["what an earlier generation made is had still, though another one made what is wanted now", ["strict"], ["p0.ns"]],
  ["the same while what is wanted now is on its way", ["strict", "plain"], ["p0.ns"]],
  ["who has what is wanted now has nothing of the generations before", ["plain"], []],
  ["nor who has what another object made", ["other"], []],
])("%s", (_case, versions, waiting) => {
  const [one] = fleet(1, everything, "has").proxies;
  if (!one) throw new Error("no proxy");
  const mayHave = (type: ResourceType) =>
    type === types.listener ? versions.map((hash) => resource("inbound", hash)) : [];
  const behind: Fleet = { asked: 0, proxies: [{ ...one, mayHave }] };
  const own = owner(behind, { [types.listener]: [layer(resource("inbound", "plain"))] });
  const classes: readonly ClassEntry[] = [{ ...own, renderer: {} as Renderer, nodes: [one.node] }];
  const roster = { version: 1, classes, where: createWhere(), patched: [] };
  const earlier = new Map([["inbound", new Set(["strict", "plain"])]]);
  expect(judged([], [], { roster, earlier })).toMatchObject({ affected: waiting.length, acknowledged: 0, waiting });
});

/** A class that surely has no more than version 5 of the graph. */
function stuckClass(of: Owner, envoyFilters: readonly string[] = []): ClassEntry {
  return { ...of, renderer: { proxy: { envoyFilters } } as Renderer, nodes: [], stuckAt: 5 };
}

test.each<[string, Partial<JudgeInputs>, readonly string[]]>([
  ["waits for what has changed since", { version: 6 }, ["p0.ns", "p1.ns"]],
  ["has what changed before", { version: 5 }, []],
  [
    "waits for what a removed object leaves",
    { version: 6, made: [], earlier: earlierRoute("old") },
    ["p0.ns", "p1.ns"],
  ],
  ["has nothing of an object that made other things", { version: 6, made: [], earlier: earlierRoute("new") }, []],
  ["has nothing of what is made under other names", { version: 6, made: [[resource("81")]] }, []],
])("who is of a class that could not be made %s", (_case, inputs, waiting) => {
  const [stuck, other] = [fleet(2, everything), fleet(3, everything)];
  const [old, now] = [resource("80", "old"), resource("80", "new")];
  const [stale, fresh] = [owner(stuck, { [types.route]: [layer(old)] }), owner(other, { [types.route]: [layer(now)] })];
  const where = createWhere();
  for (const one of [stale, fresh]) where.add(one);
  const classes = [stuckClass(stale)];
  const roster = { version: 9, classes, where, patched: [] };
  const verdict = judged([], [[now]], { roster, ...inputs });
  expect(verdict.waiting).toEqual(waiting);
  expect(verdict.affected - verdict.acknowledged).toBe(waiting.length);
});

test("who is of a class that could not be made, and follows nothing of it, does not wait", () => {
  const own = owner(fleet(2, new Set(["81"])), { [types.route]: [layer(resource("80", "old"))] });
  const classes = [stuckClass(own)];
  const roster = { version: 9, classes, where: createWhere(), patched: [] };
  expect(judged([], [[resource("80", "new")]], { roster, version: 6 })).toMatchObject({ affected: 0 });
});

test.each([
  [6, 2],
  [5, 0],
])("a class that could not be made has patches of before: a filter of version %i waits for %i", (version, waiting) => {
  const patched = resource("80", "patched");
  const own = owner(fleet(2, everything), { [types.route]: [layer(patched)] });
  const where = createWhere();
  where.add(own);
  const roster = { version: 9, classes: [stuckClass(own, ["ns/f"])], where, patched: [] };
  const verdict = judged([], [[patched]], { roster, object: "EnvoyFilter/ns/f", version });
  expect(verdict.waiting).toHaveLength(waiting);
});

test.each([
  [6, ["p0.ns", "p1.ns"]],
  [0, []],
])("what could not be made again is awaited of an object that has changed: of version %i of %j", (version, waiting) => {
  const [stale, other] = [resource("80", "old"), resource("81")];
  const owners = [
    owner(fleet(2, new Set(["80"])), { [types.route]: [layer(stale, other)] }),
    owner(fleet(3, new Set(["81"])), { [types.route]: [layer(stale, other)] }),
  ];
  const isStale: JudgeInputs["isStale"] = (one) => one === stale;
  const verdict = judged(owners, [[stale, other]], { isStale, version });
  expect(verdict).toMatchObject({ affected: 5, acknowledged: 5 - waiting.length, waiting });
});

test("what could not be made again is awaited where patches are applied to it, too", () => {
  const stale = resource("80", "old");
  const patched = owner(fleet(2, everything), { [types.route]: [layer(resource("80", "patched"))] });
  const renderer = { proxy: { envoyFilters: ["ns/f"] }, set: () => patched.sets[0], patchesOf: () => [] };
  const entry: ClassEntry = { ...patched, renderer: renderer as unknown as Renderer, nodes: [] };
  const roster = { version: 9, classes: [], where: createWhere(), patched: [entry] };
  const verdict = judged([], [[stale]], { roster, isStale: (one) => one === stale, version: 6 });
  expect(verdict.waiting).toEqual(["p0.ns", "p1.ns"]);
});

test.each<[Progress, readonly string[]]>([
  ["has", ["p0.ns"]],
  ["unasked", []],
])("what could not be made again is awaited of who is behind with something else, and %s it", (progress, waiting) => {
  const stale = resource("80", "old");
  const behind = owner(fleet(1, everything, progress), { [types.route]: [layer(stale)] });
  expect(judged([behind], [[stale]], { isStale: (one) => one === stale, version: 6 }).waiting).toEqual(waiting);
});

test.each<[Progress, number, readonly string[]]>([
  ["refused", 0, ["p0.ns"]],
  ["has", 1, []],
])(
  "while it is looked what proxies refuse, who refuses it is awaited, and who has it has it: %s",
  (progress, acknowledged, waiting) => {
    const route = resource("80");
    const own = owner(fleet(1, everything, progress), { [types.route]: [layer(route)] });
    expect(judged([own], [[route]], { isOpen: () => true })).toMatchObject({ acknowledged, waiting, refusing: [] });
  },
);
