/** For any course of changes and answers: no route is ever live without its cluster and endpoints, and all ends as wanted. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { bytesOf, type ResourceType, types } from "../../model/index.ts";
import { createMemorySource, resource, silentNode } from "../testing.ts";
import { createHoldBack } from "./hold-back.ts";
import { createNamePool } from "./names.ts";
import { createSteps } from "./steps.ts";
import { createStreamState, type Response } from "./stream-state.ts";
import { TypeState } from "./type-state.ts";
import { createVersions } from "./version.ts";

const { cluster: CDS, endpoint: EDS, listener: LDS, route: RDS } = types;
const names = ["a", "b", "c", "d"];

interface World {
  /** Which clusters exist, with a version each. */
  readonly clusters: readonly (readonly [string, number])[];
  /** For each route the cluster that it names, by position among those that exist. */
  readonly routes: readonly number[];
}

type Step = { readonly put: World } | { readonly act: "send" | "take" | "answer" };

/**
 * Envoy as far as it matters: takes responses in order, but late, follows endpoints of its clusters, and its answers
 * arrive late. A new cluster warms until it hears of its endpoints; to hear that there are none makes it an empty one.
 */
function createEnvoy(variant: "sotw" | "delta", drainMs: number) {
  const source = createMemorySource();
  let n = 0;
  let nowMs = 0;
  const session = source.connect(silentNode, undefined, (news) => state.changed(news));
  const versions = createVersions({ now: () => new Date(0), uuid: () => `-${++n}` });
  const state = createStreamState({
    variant,
    session,
    versions,
    steps: createSteps(),
    pool: createNamePool(),
    times: { maxWaitMs: 5000, drainMs },
    onHeldBack: () => {},
  });
  const clusters = new Map<string, { version: string; hosts: "unknown" | "none" | "some" }>();
  const routes = new Map<string, readonly string[]>();
  const followed = new Set<string>();
  /** Responses on their way to the client, and requests on their way to the server. */
  const incoming: Response[] = [];
  const outgoing: (() => void)[] = [];
  const text = new TextDecoder();

  const ask = (
    type: ResourceType,
    subscribe: readonly string[],
    unsubscribe: readonly string[],
    nonce: string,
  ): void => {
    const all = type === EDS ? [...followed] : type === RDS ? ["r0", "r1"] : [];
    outgoing.push(() => {
      if (variant === "sotw") state.receiveSotw({ type, names: all, nonce, version: "" }, nowMs);
      else state.receiveDelta({ type, subscribe, unsubscribe, initial: new Map(), nonce }, nowMs);
    });
  };
  let endpointNonce = "";
  const unanswered: string[] = [];

  function takeClusters(response: Response): void {
    const before = new Set(clusters.keys());
    if (variant === "sotw")
      for (const name of before) if (!response.resources.some((one) => one.name === name)) drop(name);
    for (const one of response.resources) {
      // A changed cluster warms beside the old one, which serves until then.
      const hosts = clusters.get(one.name)?.hosts ?? "unknown";
      clusters.set(one.name, { version: text.decode(bytesOf(one)), hosts });
    }
    for (const name of response.removed) drop(name);
    const added = [...clusters.keys()].filter((name) => !followed.has(name));
    const gone = [...followed].filter((name) => !clusters.has(name));
    for (const name of added) followed.add(name);
    for (const name of gone) followed.delete(name);
    if (added.length + gone.length > 0) ask(EDS, added, gone, variant === "sotw" ? endpointNonce : "");
  }

  function drop(name: string): void {
    clusters.delete(name);
  }

  function takeEndpoints({ resources, removed, nonce }: Response): void {
    endpointNonce = nonce;
    for (const { name } of resources) {
      const cluster = clusters.get(name);
      if (cluster) cluster.hosts = "some";
    }
    for (const name of removed) {
      const cluster = clusters.get(name);
      if (cluster?.hosts === "unknown") cluster.hosts = "none";
    }
  }

  function take(response: Response): void {
    if (response.type === CDS) takeClusters(response);
    if (response.type === EDS) takeEndpoints(response);
    if (response.type === RDS) for (const one of response.resources) routes.set(one.name, one.needs);
    for (const [route, named] of routes)
      for (const name of named) {
        const hosts = clusters.get(name)?.hosts;
        if (hosts !== "some") throw new Error(`${route} names ${name}, whose hosts are ${hosts ?? "gone with it"}`);
      }
    if (response.type === CDS) unanswered.push(response.nonce);
    else ask(response.type, [], [], response.nonce);
    // As Envoy does, which answers on clusters only when none of them warms.
    if (clusters.values().every(({ hosts }) => hosts !== "unknown"))
      for (const nonce of unanswered.splice(0)) ask(CDS, [], [], nonce);
  }

  return {
    put(world: World): void {
      const kept = world.clusters.length === 0 ? ([["a", 0]] as const) : world.clusters;
      const wanted = new Map(kept);
      const made = [...wanted.keys()];
      source.set({
        [CDS]: [...wanted].map(([name, version]) => resource(name, `${name}${version}`, [name])),
        [EDS]: made.map((name) => resource(name, `endpoints of ${name}`)),
        [LDS]: [resource("l", "l")],
        [RDS]: world.routes.map((pick, i) => {
          const target = made[pick % made.length] ?? "a";
          return resource(`r${i}`, `r${i}>${target}`, [target]);
        }),
      });
    },
    start(): void {
      ask(CDS, [], [], "");
      this.settle();
      ask(LDS, [], [], "");
      ask(RDS, ["r0", "r1"], [], "");
    },
    act(what: "send" | "take" | "answer"): boolean {
      nowMs++;
      if (what === "send") {
        const response = state.next(nowMs);
        if (response) incoming.push(response);
        return response !== undefined;
      }
      if (what === "take") {
        const response = incoming.shift();
        if (response) take(response);
        return response !== undefined;
      }
      const request = outgoing.shift();
      request?.();
      return request !== undefined;
    },
    settle(): void {
      for (let i = 0, idle = 0; i < 1000 && idle < 3; i++) {
        idle = acts.map((what) => this.act(what)).some(Boolean) ? 0 : idle + 1;
        if (idle === 0) continue;
        // Within the time that a route waits: nothing may come to pass only because a wait was given up.
        nowMs += drainMs;
        state.wake();
      }
      if (!state.pending()) return;
      throw new Error("it does not come to rest");
    },
    holds: () => ({
      clusters: [...clusters.values()].map(({ version }) => version).sort(),
      routes: [...routes].map(([name, [target]]) => `${name}>${target}`).sort(),
    }),
    wanted: () => ({
      clusters: [...session.all(CDS).entries()].map(([, one]) => text.decode(bytesOf(one))).sort(),
      routes: [...session.all(RDS).entries()].map(([, one]) => text.decode(bytesOf(one))).sort(),
    }),
    state,
  };
}

const world: fc.Arbitrary<World> = fc.record({
  clusters: fc.uniqueArray(fc.tuple(fc.constantFrom(...names), fc.nat(2)), {
    maxLength: 4,
    selector: ([name]) => name,
  }),
  routes: fc.tuple(fc.nat(3), fc.nat(3)),
});
const acts = ["send", "take", "answer"] as const;
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 1, arbitrary: world.map((put) => ({ put })) },
  { weight: 5, arbitrary: fc.record({ act: fc.constantFrom(...acts) }) },
);

test.each(["sotw", "delta"] as const)("%s", (variant) => {
  fc.assert(
    fc.property(
      world,
      fc.constantFrom(0, 20),
      fc.array(step, { maxLength: 100, size: "max" }),
      (first, drainMs, steps) => {
        const envoy = createEnvoy(variant, drainMs);
        envoy.put(first);
        envoy.start();
        envoy.settle();
        for (const one of steps) {
          if ("put" in one) envoy.put(one.put);
          else envoy.act(one.act);
        }
        envoy.settle();
        expect(envoy.holds()).toEqual(envoy.wanted());
        expect(envoy.state.held()).toEqual([]);
      },
    ),
    { numRuns: 1000 },
  );
});

test("clusters that routes have let go of are not remembered for longer than they drain", () => {
  const clusters = new TypeState(CDS, {
    pool: createNamePool(),
    session: { forget() {} },
    onAccepted: () => {},
    onOfferedAgain: () => {},
  });
  clusters.wildcard = true;
  const holdBack = createHoldBack({
    states: new Map([[CDS, clusters]]),
    session: createMemorySource().connect(silentNode, undefined, () => {}),
    ...{ steps: createSteps(), times: { maxWaitMs: 5000, drainMs: 5000 }, onEnded: () => {} },
  });
  // Of clusters that nobody makes none is ever removed.
  const naming = (i: number) => new Map([["80", resource("80", `${i}`, [`c${i}`])]]);
  for (let i = 0; i < 1000; i++) {
    const response = { nonce: `${i}`, changes: naming(i + 1), before: naming(i), whole: false, sentAtMs: 0 };
    holdBack.noteAccepted(RDS, response, i * 1000);
  }
  expect(holdBack.kept()).toBeLessThan(10);
});
