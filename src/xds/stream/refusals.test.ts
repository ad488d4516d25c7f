import { describe, expect, test } from "vitest";
import { createResourceSet, emptyResourceSet, type ResourceSet, type ResourceType, types } from "../../model/index.ts";
import { resource } from "../testing.ts";
import { createNamePool } from "./names.ts";
import { TypeState } from "./type-state.ts";

interface Client {
  readonly whole: boolean;
  readonly resumed?: boolean;
  readonly type?: ResourceType;
}

/**
 * A client of all resources of a type; each response makes of what it was sent what is put, as `name` or `name@version`, and
 * is answered by its nonce.
 */
function start({ whole, resumed = false, type = types.listener }: Client) {
  const offeredAgain: string[] = [];
  const state = new TypeState(type, {
    pool: createNamePool(),
    session: { forget() {} },
    onAccepted() {},
    onOfferedAgain: (_type, resources) => void offeredAgain.push(...resources.map(({ name }) => name)),
  });
  state.wildcard = true;
  if (resumed) state.resume(emptyResourceSet, new Map());
  let sent = 0;
  const setOf = (names: readonly string[]): ResourceSet =>
    createResourceSet([
      new Map(names.map((text) => [text.replace(/@.*/, ""), resource(text.replace(/@.*/, ""), text)])),
    ]);
  const send = (now: ResourceSet, again: readonly string[] = []): string => {
    const names = new Set([...state.base.names(), ...now.names()]);
    const differing = [...names].filter(
      (name) => state.sent(name)?.hash !== now.get(name)?.hash || again.includes(name),
    );
    const nonce = `${++sent}`;
    const changes = new Map(differing.map((name) => [name, now.get(name)]));
    const before = new Map(differing.map((name) => [name, state.sent(name)]));
    state.recordSent({ nonce, version: nonce, changes, before, whole }, 0);
    state.reach(now);
    return nonce;
  };
  const suspects = (): readonly (readonly string[])[] => {
    const all: (readonly string[])[] = [];
    while (state.refusals?.hasSuspects) all.push(state.refusals.takeSuspects());
    return all;
  };
  return {
    ...{ state, suspects, offeredAgain },
    put: (...names: readonly string[]) => send(setOf(names)),
    /** With one of them that has not changed. */
    putAgain: (again: string, ...names: readonly string[]) => send(setOf(names), [again]),
    accept: (nonce: string) => state.accept(nonce, 0),
    refuse: (nonce: string, message: string) => state.reject(nonce, { message }, 0),
    refused: () => [...(state.refusals?.names() ?? [])],
  };
}

const byName = (name: string): string => `Error adding/updating listener(s) ${name}: no such filter`;

test("of a refusal that names nothing it is told what it may be about, until the next answer", () => {
  const { state, put, accept, refuse } = start({ whole: false });
  refuse(put("a", "b"), "no");
  expect(state.refusals).toMatchObject({ lastError: "no", doubted: ["a", "b"] });
  refuse(put("a", "b", "c", "d"), byName("c"));
  expect(state.refusals?.doubted).toEqual([]);
  accept(put("a", "b", "c", "d", "e"));
  expect(state.refusals).toMatchObject({ lastError: "", doubted: [] });
});

test.each([
  ["says as Envoy does that it went through all", byName("b"), [], ["a", "c"]],
  ["only names one", "b has no such filter", [["a", "c"], ["b"]], []],
])("who %s, has taken the others or none", (_case, message, apart, taken) => {
  const { state, put, refuse, suspects } = start({ whole: false });
  refuse(put("a", "b", "c"), message);
  expect(["a", "b", "c"].filter((name) => state.accepted(name))).toEqual(taken);
  expect(suspects()).toEqual(apart);
});

test.each([
  [true, ["a", "b"]],
  [false, []],
])("of a whole set (%s) all that was refused is left out until it is found what it is", (whole, refused) => {
  const client = start({ whole });
  client.refuse(client.put("a", "b"), "no");
  expect(client.refused()).toEqual(refused);
  expect(client.suspects()).toEqual([["a"], ["b"]]);
});

describe("what is new alone, and refused without a name,", () => {
  const begin = () => {
    const client = start({ whole: true });
    client.accept(client.put("a"));
    return client;
  };

  test("is what was meant", () => {
    const { put, refuse, refused, suspects } = begin();
    refuse(put("a", "b"), "no");
    expect([refused(), suspects()]).toEqual([["b"], []]);
  });

  test.each([
    ["was refused by its name", byName("ring")],
    ["was refused without a name", "no"],
  ])("is still in doubt where the set before it had more, which %s", (_case, message) => {
    const { put, refuse, suspects } = begin();
    const [first, second] = [put("a", "ring", "b"), put("a", "ring", "b", "c")];
    refuse(first, message);
    suspects();
    refuse(second, "no");
    expect(suspects()).toEqual([["c"]]);
  });
});

test("a whole set that is refused while another is on its way is offered again by that, and no part ever is", () => {
  for (const whole of [true, false]) {
    const { put, refuse, offeredAgain } = start({ whole });
    refuse(put("a"), "no");
    expect(offeredAgain).toEqual([]);
    const refusedSet = put("a", "b");
    put("a", "b", "c");
    refuse(refusedSet, "no");
    expect(offeredAgain).toEqual(whole ? ["b"] : []);
  }
});

test.each([
  ["beside what is new", ["a", "b"], ["a"]],
  ["alone", ["a"], []],
])("what was sent again %s, and refused, is sent once more or not", (_case, names, again) => {
  const { state, put, putAgain, accept, refuse } = start({ whole: false });
  accept(put("a"));
  refuse(putAgain("a", ...names), "no");
  expect([...state.mustSend]).toEqual(again);
});

test.each([
  [true, [[], ["a"], ["b"]]],
  [false, [["a"], ["b"]]],
])(
  "what a client may have of an earlier stream (%s) is to go first, with a set that has nothing new",
  (resumed, apart) => {
    const { put, refuse, suspects } = start({ whole: true, resumed });
    refuse(put("a", "b"), "no");
    expect(suspects()).toEqual(apart);
  },
);

test("of thousands that are refused each is told what is said of it, and that takes no longer for what is not named", () => {
  const names = Array.from({ length: 3000 }, (_, i) => `outbound|80||service-${i}.default.svc.cluster.local`);
  const { state, put, refuse } = start({ whole: true, type: types.cluster });
  const startedMs = performance.now();
  refuse(put(...names), `Error adding/updating cluster(s) ${"other: too small, outbound|80||".repeat(130)}`);
  // Each was looked for with each of the others: it took ten seconds.
  expect(performance.now() - startedMs).toBeLessThan(1500);
  expect(state.refusals?.size).toBe(names.length);
});

test("what is said of each is cut at the next one, or at the end of its line", () => {
  const words = (message: string): readonly (string | undefined)[] => {
    const { state, put, refuse } = start({ whole: true, type: types.cluster });
    refuse(put("a", "b", "c"), message);
    return ["a", "b", "c"].map((name) => state.refusals?.wordsOf(name));
  };
  const begin = "Error adding/updating cluster(s)";
  expect(words(`${begin} a: one, two, b: three`)).toEqual([`${begin} a: one, two`, "b: three", ""]);
  expect(words(`${begin} a: one\nmore, b: two\nc: three`)).toEqual([`${begin} a: one`, "b: two", "c: three"]);
  expect(words(`${begin} none`)).toEqual(Array.from({ length: 3 }, () => `${begin} none`));
});

test.each([
  [types.cluster, "cluster", ["a", "b"]],
  [types.listener, "listener", []],
])("where versions that were refused by name are half-made, what there was is sent again: %s", (type, word, again) => {
  const { state, put, accept, refuse } = start({ whole: true, type });
  accept(put("a", "b"));
  refuse(put("a@2", "b"), `Error adding/updating ${word}(s) a: too small`);
  refuse(put("a@2", "b@2"), `Error adding/updating ${word}(s) b: too small`);
  refuse(put("a", "b", "c", "d"), "no");
  expect([...state.mustSend]).toEqual(again);
});
